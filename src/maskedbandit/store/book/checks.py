"""Whether what is stored of a study is what its ledger says: asked when it is opened, and by `verify`."""

import hmac
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from maskedbandit.channels.channel import find_backend
from maskedbandit.errors import Corrupted, MaskedBanditError, UnknownStudy
from maskedbandit.privacy.loss import Loss
from maskedbandit.store.accounts import Accounts, Losses, Terms, number_loss
from maskedbandit.store.book.book import Book, make_behind_error, seen_head
from maskedbandit.store.book.chain import Head, check_chain, read_links
from maskedbandit.store.book.entries import Release, parse_entries
from maskedbandit.store.book.harm import follow_harm
from maskedbandit.store.book.shares import check_all_shares
from maskedbandit.store.book.site_entries import SitesChanged
from maskedbandit.store.book.standing import follow_changes
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.study.driver import Driver
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.site_stages import find_stage
from maskedbandit.study.watch import Watch


def memory_digest(text: str, key: Ed25519PrivateKey) -> str:
    """What the ledger says of what a channel keeps: a hash that nobody can guess without the key."""
    return hmac.digest(key.private_bytes_raw(), b"maskedbandit memory" + text.encode(), sha256).hex()


def seed_digest(seed: bytes) -> str:
    """What the ledger says of the seed, which is secret."""
    return sha256(b"maskedbandit seed" + seed).hexdigest()


@contextmanager
def as_corrupted(study: str) -> Iterator[None]:
    """Raise `Corrupted` in place of any error of a row that cannot be read: it was changed."""
    try:
        yield
    except MaskedBanditError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as why:
        raise Corrupted(f"a row of {study} was changed, as it cannot be read: {why}") from why


def read_book(database: Database, witness: Witness, study: str) -> Book:
    """The whole ledger of a study, or raise `Corrupted` or `BehindWitness` unless it fits what is stored.

    It is whole, signed, and goes on from its witness; it is of this protocol, seed and project, and says in which state
    the study is; the releases are its own, with the noise of the protocol. The decisions are for `check_log`.
    """
    row = database.one("SELECT project, protocol, state, people FROM study WHERE study = ?", study)
    if row is None:
        raise UnknownStudy(f"there is no study {study!r} in this database")
    project, text, state, people = row
    key, losses, links = witness.signing_key(), Losses(database), read_links(database, study)
    check_chain(study, links, key.public_key())
    book = Book(study, Protocol.from_text(text), parse_entries(study, links), database, people)
    check_start(book)
    check_state(book, state)
    check_project(book, project, Accounts(database, losses, project).terms)
    seen = seen_head(database, witness, study)
    witness.check_others(database, study)
    check_releases(book, losses, key)
    check_noise(book)
    check_all_shares(book)
    return replace(book, seen=seen)


def check_log(book: Book, dealt: Iterable[tuple[int, int]] = ()) -> tuple[Driver, Watch | None]:
    """The driver and the watch for harm before their next step, or raise `Corrupted` unless they wrote this log."""
    driver = book.replay(dealt)
    begun = [each for each in book.stage_changes if each.step is not None]
    for each, first in zip(begun, driver.deck.begun, strict=True):
        if isinstance(each, SitesChanged) and each.first != first:
            raise Corrupted(
                f"the ledger of {book.study} has a list of sites from another cohort on than it begins with"
            )
    return driver, follow_harm(book.study, book.protocol, book.entries, driver.cohorts)


def check_start(book: Book) -> None:
    """Raise `Corrupted` unless the protocol and the seed are those with which the study was started."""
    if (started := book.started) is None:
        return
    for name, stored in (("protocol", book.draft.digest), ("seed", seed_digest(book.seed))):
        if getattr(started, name) != stored:
            raise Corrupted(f"the {name} of {book.study} was changed: it is not the one with which it was started")


def check_state(book: Book, state: str) -> None:
    """Raise `Corrupted` unless the study, and each of its arms, is in the state of which its ledger says so."""
    if state != book.state:
        raise Corrupted(f"the state of {book.study} was changed: it is {state}, and the ledger says {book.state}")
    follow_changes(book.study, book.protocol, book.stage_changes)


def check_project(book: Book, project: str, terms: Terms) -> None:
    """Raise `Corrupted` unless people have the budget that the protocol promises."""
    protocol = book.draft
    if project != protocol.project:
        raise Corrupted(
            f"the project of {book.study} was changed: it is {project}, and its protocol says {protocol.project}"
        )
    if (terms.budget, terms.period) != (number_loss(protocol.budget.to_text()), protocol.period):
        raise Corrupted(f"the budget of project {project} was changed: it is not that of the protocol of {book.study}")


def check_head(witness: Witness, study: str, head: Head) -> None:
    """Raise `BehindWitness` unless this head, of which the witness was told last, is still the one that it has seen."""
    seen = witness.seen(study)
    last = Head() if seen is None else seen.head
    if last != head:
        raise make_behind_error(witness, study, head.entries, last)


def check_releases(book: Book, losses: Losses, key: Ed25519PrivateKey) -> None:
    """Raise `Corrupted` unless the releases that are stored are those of the ledger, number for number."""
    assert book.database is not None
    find = "SELECT cohort, step, arm, n, total, members, loss, memory FROM release WHERE study = ? ORDER BY step"
    study, said = book.study, {each.cohort: each for each in book.releases}
    charged: dict[tuple[int, int], bool] = {}  # whether two losses are one, which are mostly the same two
    for cohort, *stored, loss, memory in book.database.rows(find, study):
        release = said.pop(cohort, None)
        if release is None:
            raise Corrupted(f"the release of cohort {cohort} of {study} is not in the ledger")
        for name, value in zip(("step", "arm", "n", "total", "members"), stored, strict=True):
            if repr(told := getattr(release, name)) != repr(value):
                raise Corrupted(
                    f"the {name} of the release of cohort {cohort} of {study} was changed: it is {value!r}, "
                    f"and the ledger says {told!r}"
                )
        pair = loss, id(release.loss)
        if pair not in charged:
            charged[pair] = losses[loss] == release.loss
        is_kept = release.memory == memory_digest(memory, key) or (memory == "" and book.state == "archived")
        for name, is_same in (("loss", charged[pair]), ("memory", is_kept)):
            if not is_same:
                raise Corrupted(f"the {name} of the release of cohort {cohort} of {study} was changed")
    if said:
        raise Corrupted(f"the release of cohort {min(said)} of {study} was removed: it is in the ledger alone")


def check_parties(protocol: Protocol, release: Release, which: str) -> None:
    """Raise `Corrupted` unless a release says of which sites it is, if there are any, and these may have opened it.

    Of devices that add up enough are in the sum.
    """
    channel: Any = protocol.channel
    backend: Any = find_backend(channel)
    size = release.size or release.n
    if protocol.sites is None:
        if release.sites or (release.size and protocol.rounds is None):
            raise Corrupted(f"{which} names sites, and its protocol has none")
        if protocol.rounds is not None:
            opened = channel.counted_on(size) + backend.rules.count_corrupted(size)
            if not opened <= release.n <= size or release.size == release.n:
                raise Corrupted(f"{which} is of fewer devices than can have opened it")
        return
    numbers = {each.number for each in protocol.sites.sites}
    if not len(numbers) - backend.lost <= len(release.sites) or not numbers.issuperset(release.sites):
        raise Corrupted(f"{which} is of sites that cannot have opened it")
    if list(release.sites) != sorted(set(release.sites)) or (release.size and not 0 < release.n < size):
        raise Corrupted(f"{which} does not say of how many people it is")


def check_noise(book: Book) -> None:
    """Raise `Corrupted` unless releases have the cap and the noise that the protocol says, and cost what it says.

    The noise is that of each outcome, and the pure ε of a release is at least the one of the protocol.
    """
    protocol, right, stages = book.draft, dict[int, tuple[list[str], Loss]](), book.site_lists.stages
    among = {each.name: protocol.among(each) for each in stages}
    for each in book.releases:
        which = f"the release of cohort {each.cohort} of {book.study}"
        if each.cap != protocol.reward.cap:
            raise Corrupted(f"the cap of {which} is not that of its protocol")
        check_parties(among[find_stage(stages, each.cohort).name] if stages else protocol, each, which)
        size = each.size or each.n
        if size not in right:
            right[size] = [offer.digest.hex() for offer in protocol.offers(size)], protocol.price(size)
        offers, price = right[size]
        if [each.offer, *(other.offer for other in each.further)] != offers:
            raise Corrupted(f"{which} had other noise than its protocol says")
        if each.loss.pure_epsilon < price.pure_epsilon:
            raise Corrupted(f"{which} cost more than its ledger says")
