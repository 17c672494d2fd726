"""Whether all that is stored of a study fits together, recomputed from the rows alone."""

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from maskedbandit.errors import BudgetExceeded, Corrupted
from maskedbandit.privacy.budget import Account
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.secagg.uploads import digest_reports
from maskedbandit.store.accounts import Accounts, Losses
from maskedbandit.store.book.book import Book
from maskedbandit.store.book.checks import as_corrupted, check_log, read_book
from maskedbandit.store.book.entries import Burned, read_entries
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.store.members import read_members, seal_members
from maskedbandit.study.driver import Driver
from maskedbandit.study.site_stages import Stages, find_stage


class Verified(NamedTuple):
    """What was found to fit."""

    entries: int
    head: str
    releases: int
    people: int  # who were charged, those among them whose place went back or whose data was erased
    worst: Loss  # what the person who was charged most has spent, in a period


def verify_study(database: Database, witness: Witness, study: str) -> Verified:
    """Raise `Corrupted` or `BehindWitness` unless everything fits; nothing is changed. The study may go on meanwhile.

    The ledger is whole, signed, and goes on from its witness; the releases are its own, with the noise of the
    protocol; every decision follows from the seed and the releases before it; every released cohort has exactly its
    people, and their digest; everybody was charged what the release cost, and is within the budget.
    """
    witness = witness.as_now()  # first: the ledger may only go on from what was seen
    with as_corrupted(study), database.still():
        book, losses = read_book(database, witness, study), Losses(database)
        driver, _ = check_log(book)
        check_sites_of_places(database, study, book.site_lists.stages)
        check_places(database, losses, study, driver, {each.cohort: each.size for each in book.releases})
        check_lists(database, book)
        people, worst = check_accounts(database, losses, book.draft.project, study)
        check_tickets(database, book.draft.project, study)
        return Verified(*book.head, len(book.releases), people, worst)


def check_places(database: Database, losses: Losses, study: str, driver: Driver, sizes: Mapping[int, int]) -> None:
    """Every place is one of its cohort, and every released cohort has the people that its release says.

    Of cohorts of which not all people are in the sum these are the `sizes`.
    """
    groups = database.rows(
        "SELECT cohort, arm, loss, COUNT(*), COUNT(DISTINCT place), MIN(place), MAX(place) FROM place "
        "WHERE study = ? AND returned IS NULL GROUP BY cohort, arm, loss",
        study,
    )
    for cohort, arm, loss, count, different, least, most in groups:
        places = driver.cohorts[cohort] if 0 <= cohort < len(driver.cohorts) else None
        if places is None or places.arm != arm or least < 0 or most >= places.size or different != count:
            raise Corrupted(f"a place of cohort {cohort} of {study} is not one that was asked for, or was dealt twice")
        stored = database.one("SELECT loss FROM release WHERE study = ? AND cohort = ?", study, cohort)
        if stored is not None and losses[loss] | losses[stored[0]] != losses[loss]:
            raise Corrupted(f"people of cohort {cohort} of {study} were charged less than its release cost")
    for cohort, n, digest in database.rows("SELECT cohort, n, members FROM release WHERE study = ?", study):
        found = read_members(database, study, cohort)
        if any(member.kept and member.told for member in found):
            raise Corrupted(f"a row of cohort {cohort} of {study} is marked as erased, and has reports")
        size = sizes.get(cohort) or n
        if [member.place for member in found] != list(range(size)):
            raise Corrupted(f"cohort {cohort} of {study} was released with {size} people, and {len(found)} are stored")
        if seal_members(found) != digest:
            raise Corrupted(
                f"a person, a ticket or a reward of cohort {cohort} of {study} was changed after its release"
            )


def check_sites_of_places(database: Database, study: str, stages: Stages) -> None:
    """Every place is of a person of a site that the list of its cohort has, if there are any."""
    places = database.rows("SELECT DISTINCT cohort, site FROM place WHERE study = ?", study)
    for cohort, site in places:
        if (site not in find_stage(stages, cohort).keys) if stages else (site is not None):
            raise Corrupted(f"a place of cohort {cohort} of {study} is of a site that it does not have")


def check_lists(database: Database, book: Book) -> None:
    """The list that the helper of two operators has signed is that of the reports which are stored."""
    for release in book.releases:
        if release.helper is None:
            continue
        found = read_members(database, book.study, release.cohort)
        if any(member.kept or member.person is None for member in found):
            continue  # whose report was in it is not known any more
        names = {member.place: bytes.fromhex(member.upload[0]) for member in found if member.upload}
        if digest_reports(names) != release.helper.digest:
            raise Corrupted(f"the reports of cohort {release.cohort} of {book.study} are not those of its helper")


def check_tickets(database: Database, project: str, study: str) -> None:
    """A person has one place, which the person's account names: whoever comes again is found by it."""
    twice = "SELECT person FROM place WHERE study = ? AND returned IS NULL AND person IS NOT NULL GROUP BY person "
    if database.rows(f"{twice} HAVING COUNT(*) > 1 LIMIT 1", study):
        raise Corrupted(f"a person of {study} has two places")
    unnamed = (
        "SELECT place.ticket FROM place LEFT JOIN account ON account.project = ? AND account.person = place.person "
        "AND account.period = place.period WHERE place.study = ? AND place.person IS NOT NULL "
        "AND COALESCE(REPLACE(account.tickets, place.ticket || ' ', '') = account.tickets, TRUE) LIMIT 1"
    )
    if database.rows(unnamed, project, study):
        raise Corrupted(f"the account of a person of {project} does not name the person's place in {study}")


def check_accounts(database: Database, losses: Losses, project: str, study: str) -> tuple[int, Loss]:
    """Everybody was charged for every place, within the budget: how many people of the study, and the most spent."""
    accounts = Accounts(database, losses, project)
    check_burned(database, losses, accounts)
    charged: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for person, period, loss, count in database.rows(
        "SELECT person, period, loss, COUNT(*) FROM ("
        "SELECT study, person, period, loss FROM place WHERE person IS NOT NULL "
        "UNION ALL SELECT study, person, period, loss FROM erased) AS charged "
        "JOIN study ON study.study = charged.study WHERE study.project = ? GROUP BY person, period, loss",
        project,
    ):
        charged[person, period].append((loss, count))
    known = {
        (person, period): (first, spent)
        for person, period, first, spent in database.rows(
            "SELECT person, period, first, spent FROM account WHERE project = ?", project
        )
    }
    fits: dict[tuple[tuple[tuple[int, int], ...], tuple[int, int]], bool] = {}
    for who, parts in charged.items():
        if who not in known:
            raise Corrupted(f"the account of a person of {project} was removed")
        key = tuple(sorted(parts)), known[who]
        if key not in fits:
            first, spent, total = known[who][0], losses[known[who][1]], ZERO
            for loss, count in parts:
                total += count * losses[loss]
            if total == spent and first not in {accounts.terms.burned, *(loss for loss, _ in parts)}:
                raise Corrupted(f"the first charge of a person of {project} was changed: no place was charged with it")
            fits[key] = spent | total == spent
        if not fits[key]:
            raise Corrupted(f"the account of a person of {project} holds less than what the person was charged")
    worst = ZERO
    for first, spent in set(known.values()):
        check_account(accounts, losses[first], losses[spent], project)
        worst |= losses[spent]
    own = "SELECT person FROM place WHERE study = ? AND person IS NOT NULL"
    everybody = f"SELECT COUNT(*) FROM ({own} UNION SELECT person FROM erased WHERE study = ?) AS charged"
    return int(database.rows(everybody, study, study)[0][0]), worst


def check_burned(database: Database, losses: Losses, accounts: Accounts) -> None:
    """What everybody is taken to have spent is what the ledgers of the project's studies say."""
    burned, total = accounts.terms.burned, ZERO
    for (study,) in database.rows("SELECT study FROM study WHERE project = ?", accounts.project):
        for entry in read_entries(database, study, Burned.kind):
            total += entry.loss if isinstance(entry, Burned) else ZERO
    if total != (ZERO if burned is None else losses[burned]):
        raise Corrupted(f"what was burned in project {accounts.project} was changed: its ledgers say {total}")


def check_account(accounts: Accounts, first: Loss, spent: Loss, project: str) -> None:
    """What a person has spent fits the budget of the project."""
    try:
        accounts.budget.after(None if spent == first else Account(first, ZERO), spent)
    except BudgetExceeded as why:
        raise Corrupted(f"a person of {project} is {why}") from None
