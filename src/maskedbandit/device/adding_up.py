"""This device in the round of its cohort: what it answers in each phase, which is the same however often it is asked.

The outcome, with a noise share, and the seed of all secrets of the attempt are on disk before anything of it is sent,
and so is each answer. A device that was killed goes on with the same ones. It joins each attempt once, with fresh noise
and fresh keys, and none after the sum was agreed to.

**Guarantee**: of an attempt the device sends one masked value, and reveals key shares for one list of devices. A sum
that it helps to open has at least as many values as the plan says, its own included.
"""

import json
from collections.abc import Mapping
from fractions import Fraction
from os import urandom
from sqlite3 import Connection
from typing import Any

from maskedbandit.channels.offers import NoiseShare
from maskedbandit.device.booked_place import BookedPlace
from maskedbandit.device.own_place import OwnPlace
from maskedbandit.device.rounding import round_outcome
from maskedbandit.errors import Disagreement, InvalidValue, OutOfTurn, ProtocolError
from maskedbandit.privacy.sampling import Bits, draw_laplace_shares
from maskedbandit.secagg.client import RoundClient
from maskedbandit.secagg.kept_round import (
    AGREEING,
    MASKING,
    KeptStep,
    RoundDue,
    RoundTerms,
    answer_again,
    name_round,
    stretch_seed,
)
from maskedbandit.secagg.masks import KEY
from maskedbandit.secagg.plan import RoundPlan


def answer_due(connection: Connection, booked: BookedPlace, due: RoundDue, now: int) -> bytes:
    """What this device answers in a phase of a round, within a transaction; with no message it leaves the attempt."""
    where, place = (booked.study, due.terms.attempt), booked.place
    find = "SELECT received, sent FROM round_step WHERE study = ? AND attempt = ? AND phase = ?"
    stored = connection.execute(find, (*where, due.phase)).fetchone()
    if stored is not None:
        same = stored[0] == due.message.hex() and read_kept_terms(connection, where) == due.terms
        return bytes.fromhex(stored[1]) if same else b""
    try:
        if due.phase == 0:
            join_round(connection, booked, due.terms)
        sent = answer_step(connection, place, where, due)
    except (ProtocolError, InvalidValue):
        sent = b""
    if read_kept_terms(connection, where) is None:
        return b""  # nothing is kept of what was not joined
    columns = "study, attempt, phase, received, sent"
    row = *where, due.phase, due.message.hex(), sent.hex()
    connection.execute(f"INSERT INTO round_step ({columns}) VALUES (?, ?, ?, ?, ?)", row)
    if due.phase == MASKING and sent:
        note_masked(connection, where, sent, now)
    if due.phase == last_phase(place) or not sent:
        erase_round_secrets(connection, booked.study)
    return sent


def last_phase(place: OwnPlace) -> int:
    """The last phase in which a device answers, counted from 0: signed rounds have one more."""
    assert place.rounds is not None
    return AGREEING + (place.rounds.rules.server == "malicious")


def make_own_plan(place: OwnPlace, terms: RoundTerms) -> RoundPlan:
    """The plan of an attempt, from what the person agreed to, or raise `InvalidValue`."""
    offer = place.offer
    assert offer.noise is not None
    assert place.rounds is not None
    name = name_round("devices", place.protocol, offer.digest, terms.cohort, terms.attempt)
    return place.rounds.rules.plan(offer.n, offer.noise.least, offer.modulus, name, terms.ring)


def join_round(connection: Connection, booked: BookedPlace, terms: RoundTerms) -> None:
    """Check the terms, draw the noise share, and write down what is masked, or raise why the device does not join."""
    place = booked.place
    offer, outcome, rounds = place.offer, place.outcomes[0], place.rounds
    assert offer.noise is not None
    assert rounds is not None
    find = "SELECT COALESCE(MAX(attempt), 0) FROM own_round WHERE study = ?"
    ((last,),) = connection.execute(find, (booked.study,)).fetchall()
    if not last < terms.attempt <= rounds.attempts:
        raise OutOfTurn(f"attempt {terms.attempt} is not the next one, or one too many")
    agreed = "SELECT 1 FROM round_step WHERE study = ? AND phase >= ? AND sent <> ''"
    if connection.execute(agreed, (booked.study, AGREEING)).fetchone():
        raise OutOfTurn("the sum of this cohort was agreed to: it has no other attempt")
    if (terms.cohort, terms.n, terms.weights) != (place.cohort, offer.n, ()):
        raise Disagreement("the round is of another cohort than the place")
    plan, bits = make_own_plan(place, terms), Bits()  # fresh bits: none from before a fork or a snapshot
    noise = draw_noise_share(offer.noise, bits)  # before the outcome is looked at
    value = round_outcome(outcome.scale_outcome(booked.held.get("")), offer.steps, bits) + noise
    erase_round_secrets(connection, booked.study)  # of attempts before: nothing of them is answered any more
    row = booked.study, terms.attempt, write_kept_terms(terms), str(value % plan.modulus), urandom(KEY).hex()
    connection.execute("INSERT INTO own_round (study, attempt, terms, value, seed) VALUES (?, ?, ?, ?, ?)", row)


def draw_noise_share(noise: NoiseShare, bits: Bits) -> int:
    """A share, of which so many as the offer counts on make one draw of discrete Laplace noise.

    The same words make the same number as `DiscreteLaplace.noise_share`, which needs packages that a device has not.
    """
    (share,) = draw_laplace_shares(1, Fraction(1, noise.least), noise.scale, bits)
    return share


def answer_step(connection: Connection, place: OwnPlace, where: tuple[str, int], due: RoundDue) -> bytes:
    """What the device answers, with all that it answered before done again."""
    find = "SELECT value, seed FROM own_round WHERE study = ? AND attempt = ?"
    row = connection.execute(find, where).fetchone()
    if row is None or row[0] is None:
        raise OutOfTurn(f"attempt {due.terms.attempt} was not joined, or is over")
    if read_kept_terms(connection, where) != due.terms:
        raise Disagreement(f"the terms of attempt {due.terms.attempt} were changed")
    plan, position = make_own_plan(place, due.terms), place.offer.position
    assert position is not None
    client = RoundClient(plan, position, int(row[0]), stretch_seed(bytes.fromhex(row[1]), "device"))
    find = "SELECT phase, received, sent FROM round_step WHERE study = ? AND attempt = ? ORDER BY phase"
    answered = connection.execute(find, where).fetchall()
    if [phase for phase, *_ in answered] != list(range(due.phase)):
        raise OutOfTurn(f"phase {due.phase} of attempt {due.terms.attempt} is not the next one")
    steps = [KeptStep(bytes.fromhex(received), bytes.fromhex(sent)) for _, received, sent in answered]
    return answer_again(client, steps, due.message)


def note_masked(connection: Connection, where: tuple[str, int], sent: bytes, now: int) -> None:
    """Write down, for the person, that a masked value is sent: as it is sent, it is a uniform number."""
    study, attempt = where
    columns = "study, metric, turn, made, says, size, answer"
    row = study, "", attempt, now, int.from_bytes(sent[2 + KEY :]), len(sent), "masked"
    connection.execute(f"INSERT INTO kept_report ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)


def erase_round_secrets(connection: Connection, study: str) -> None:
    """Erase what the device keeps secret of attempts that are over for it."""
    connection.execute("UPDATE own_round SET value = NULL, seed = NULL WHERE study = ?", (study,))


def write_kept_terms(terms: RoundTerms) -> str:
    """The terms of a round, as JSON."""
    return json.dumps([terms.cohort, terms.attempt, terms.n, terms.ring.hex()])


def read_kept_terms(connection: Connection, where: tuple[str, int]) -> RoundTerms | None:
    """The terms of an attempt that was joined."""
    row = connection.execute("SELECT terms FROM own_round WHERE study = ? AND attempt = ?", where).fetchone()
    if row is None:
        return None
    cohort, attempt, n, ring = json.loads(row[0])
    return RoundTerms(cohort, attempt, n, (), bytes.fromhex(ring))


def read_due_now(given: Any) -> RoundDue | None:
    """What the service says is due, or None if nothing is, or it cannot be read."""
    from base64 import urlsafe_b64decode

    if not isinstance(given, Mapping):
        return None
    try:
        numbers = [given[name] for name in ("cohort", "attempt", "n", "phase")]
        if any(type(number) is not int or not 0 <= number < 2**62 for number in numbers):
            return None
        cohort, attempt, n, phase = numbers
        ring, message = bytes.fromhex(given["ring"]), urlsafe_b64decode(given["message"])
    except (TypeError, ValueError, LookupError):
        return None
    return RoundDue(RoundTerms(cohort, attempt, n, (), ring), phase, message)
