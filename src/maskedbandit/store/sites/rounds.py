"""A site in the round of a cohort: what it answers in each phase, which is the same however often it is asked.

The sum of the site, with its noise, and the seed of all its secrets are written down, and the ledger says so, before
anything of the round leaves the site. Its answers follow from these and from what it received: a process that holds the
round goes on with the client that has answered so far, and one that was killed makes the client again. That it masked
its value, and what it agreed to open, stand in the ledger before either leaves: a copy of the database that was
restored is behind the witness then, and sends nothing else.

**Guarantee**: of an attempt the site sends one masked value, and reveals key shares for one list of sites. Whatever the
coordinator sends, the site opens no sum that could lack the noise shares of the people whom the protocol counts on.
"""

import json
from collections.abc import Sequence
from os import urandom
from typing import Any

from maskedbandit.channels.codec import encode_reward
from maskedbandit.errors import Disagreement, InvalidValue, OutOfTurn, ProtocolError
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg.client import RoundClient
from maskedbandit.secagg.kept_round import (
    AGREEING,
    MASKING,
    KeptStep,
    RoundAnswer,
    RoundDue,
    RoundTerms,
    answer_again,
    read_survivors,
    stretch_seed,
)
from maskedbandit.secagg.masks import KEY
from maskedbandit.store.held_rounds import make_plan
from maskedbandit.store.holding import check_still_newest
from maskedbandit.store.sites.people import keep_places, read_rewards
from maskedbandit.store.sites.session import HeldClient, SiteSession
from maskedbandit.study.coalitions import count_site_places
from maskedbandit.study.site_stages import find_stage

LAST = 4  # phase, counted from 0


def answer_round(session: SiteSession, due: RoundDue) -> RoundAnswer:
    """What this site answers in a phase of a round; with no message it leaves the attempt."""
    check_still_newest(session)
    where = due.terms.cohort, due.terms.attempt
    find = "SELECT received, sent FROM site_message WHERE study = ? AND cohort = ? AND attempt = ? AND phase = ?"
    stored = session.database.one(find, session.name, *where, due.phase)
    if stored is not None:
        if stored[0] != due.message.hex() or read_terms(session, where) != due.terms:
            return RoundAnswer(*where, due.phase, b"", OutOfTurn().code)
        return RoundAnswer(*where, due.phase, bytes.fromhex(stored[1]))
    sent, left = b"", ""
    try:
        if due.phase == 0:
            join_attempt(session, due.terms, due.invited)
        sent = take_step(session, due)
    except (ProtocolError, InvalidValue) as why:
        left = why.code
    if where not in session.joined:
        return RoundAnswer(*where, due.phase, b"", left)  # nothing is kept of what was not joined
    columns = "study, cohort, attempt, phase, received, sent"
    session.database.insert("site_message", columns, [(session.name, *where, due.phase, due.message.hex(), sent.hex())])
    if due.phase == LAST or not sent:
        forget_secrets(session, f"cohort = {where[0]:d} AND attempt = {where[1]:d}")
    return RoundAnswer(*where, due.phase, sent, left)


def forget_secrets(session: SiteSession, which: str) -> None:
    """Erase what the site keeps secret of rounds that are over for it."""
    forget = "UPDATE site_round SET value = NULL, seed = NULL WHERE study = ? AND value IS NOT NULL"
    if session.database.change(f"{forget} AND {which}", session.name):
        session.database.change("UPDATE study SET traces = traces + 1 WHERE study = ?", session.name)


def join_attempt(session: SiteSession, terms: RoundTerms, tickets: Sequence[str]) -> None:
    """Check the terms, draw the noise, and write the site's sum down, or raise why the site does not join.

    The coordinator knows who saw the arm. Whoever is unknown here, as an answer was lost or the person's data was
    erased, counts as the default, with a noise share as all others.
    """
    if session.state != "running":
        raise OutOfTurn(f"{session.name} is {session.state} at this site")
    channel: Any = session.protocol.channel
    last = max((attempt for cohort, attempt in session.joined if cohort == terms.cohort), default=0)
    if not last < terms.attempt <= channel.backend.attempts:
        raise OutOfTurn(f"attempt {terms.attempt} of cohort {terms.cohort} is not the next one, or one too many")
    if any(cohort == terms.cohort for cohort, _ in session.agreed):
        raise OutOfTurn(f"the sum of cohort {terms.cohort} was agreed to: it has no other attempt")
    stage = find_stage(session.stages, terms.cohort)
    protocol = session.protocol.among(stage)
    if len(terms.weights) != len(stage.keys) or session.number not in stage.keys:
        raise Disagreement(f"cohort {terms.cohort} has other sites than its list says")
    rewards = read_rewards(session, terms.cohort, tickets)
    most = count_site_places(protocol, terms.n)
    weights = dict(zip(most, terms.weights, strict=True))
    if weights[session.number] != len(rewards):
        raise Disagreement(f"cohort {terms.cohort} has {len(rewards)} people of this site")
    if sum(terms.weights) != terms.n or any(many > most[site] for site, many in weights.items()):
        raise Disagreement(f"the sites of cohort {terms.cohort} have other people than the list allows")
    plan = make_plan(protocol, terms)
    (offer,) = session.protocol.offers(terms.n)
    bits, noise = Bits(), channel.release_noise(terms.n)  # fresh bits: none from before a fork or a snapshot
    value = noise.sum_of_shares(len(rewards), channel.counted_on(terms.n), bits) if rewards else 0
    value += sum(encode_reward(session.protocol.reward.of(told), offer.steps, bits) for told in rewards)
    keep_places(session, terms.cohort, tickets)
    forget_secrets(session, f"cohort = {terms.cohort:d}")  # of attempts before: nothing of them is answered any more
    row = (session.name, terms.cohort, terms.attempt, write_terms(terms), str(value % plan.modulus), urandom(KEY).hex())
    session.database.insert("site_round", "study, cohort, attempt, terms, value, seed", [row])
    says = {"cohort": terms.cohort, "attempt": terms.attempt, "n": terms.n, "weights": list(terms.weights)}
    made: Any = session.enter(kind="site_joined", **says, offer=offer.digest.hex())
    session.joined[terms.cohort, terms.attempt] = made
    session.worst |= session.protocol.price(terms.n)


def take_step(session: SiteSession, due: RoundDue) -> bytes:
    """What the site answers, after all that it answered before."""
    cohort, attempt = where = due.terms.cohort, due.terms.attempt
    held, steps = session.held.pop(cohort, None), list[KeptStep]()  # what is left is not in memory either
    find = "SELECT value, seed FROM site_round WHERE study = ? AND cohort = ? AND attempt = ?"
    row = session.database.one(find, session.name, *where)
    if row is None or row[0] is None:
        raise OutOfTurn(f"attempt {attempt} of cohort {cohort} was not joined, or is over")
    if read_terms(session, where) != due.terms:
        raise Disagreement(f"the terms of attempt {attempt} of cohort {cohort} were changed")
    if held is not None and held[:2] == (attempt, due.phase):
        client = held.client
    else:
        client, steps = make_client(session, due.terms, int(row[0]), bytes.fromhex(row[1])), read_steps(session, due)
    sent_now = answer_again(client, steps, due.message)
    if due.phase < LAST:
        session.held[cohort] = HeldClient(attempt, due.phase + 1, client)
    if due.phase == MASKING:
        session.enter(kind="site_masked", cohort=cohort, attempt=attempt)
    if due.phase == AGREEING:
        says = {"cohort": cohort, "attempt": attempt, "sites": read_survivors(due.message, client.plan.users)}
        agreed: Any = session.enter(kind="site_agreed", **says)
        session.agreed[where] = agreed
    return sent_now


def make_client(session: SiteSession, terms: RoundTerms, value: int, seed: bytes) -> RoundClient:
    """The client of an attempt, which has answered nothing yet."""
    stage = find_stage(session.stages, terms.cohort)
    plan = make_plan(session.protocol.among(stage), terms)
    identities = {number: keys.signs for number, keys in stage.keys.items()}
    return RoundClient(plan, session.number, value, stretch_seed(seed, "site"), session.signer, identities)


def read_steps(session: SiteSession, due: RoundDue) -> list[KeptStep]:
    """What the site received and answered in the attempt, in all phases before this one."""
    find = "SELECT phase, received, sent FROM site_message WHERE study = ? AND cohort = ? AND attempt = ?"
    rows = session.database.rows(f"{find} ORDER BY phase", session.name, due.terms.cohort, due.terms.attempt)
    if [phase for phase, *_ in rows] != list(range(due.phase)):
        raise OutOfTurn(f"phase {due.phase} of attempt {due.terms.attempt} is not the next one")
    return [KeptStep(bytes.fromhex(received), bytes.fromhex(sent)) for _, received, sent in rows]


def write_terms(terms: RoundTerms) -> str:
    """The terms of a round, as JSON."""
    return json.dumps([*terms[:3], list(terms.weights), terms.ring.hex()])


def read_terms(session: SiteSession, where: tuple[int, int]) -> RoundTerms | None:
    """The terms of an attempt that was joined."""
    find = "SELECT terms FROM site_round WHERE study = ? AND cohort = ? AND attempt = ?"
    row = session.database.one(find, session.name, *where)
    return None if row is None else parse_terms(row[0])


def parse_terms(text: str) -> RoundTerms:
    """The terms that `write_terms` wrote."""
    cohort, attempt, n, weights, ring = json.loads(text)
    return RoundTerms(cohort, attempt, n, tuple(weights), bytes.fromhex(ring))
