"""A study that survives its process: the driver, and a database in which all that it does is written first.

    new -> start -> assign -> expose -> report -> ... -> tick (closes cohorts, releases) -> ... -> stop -> archive

Nothing is acknowledged before it is on disk. The driver of `study/` decides; it is in memory, and made again from the
log of asks and tells in the database after a crash or a failure. `apply` does several operations in one transaction, so
that they share one wait for the disk (writer.py).

A cohort is closed at the deadline of its last place, and not before: whether a report came is private too, and one that
did not come counts as the default. Only then are its rewards read. In the same transaction its membership is sealed by
a digest, the noise is drawn from the operating system, the release and its entry in the ledger are written, and the
policy is told. The witness sees the ledger's new head before anybody sees the release.

**Guarantee**: a report counts once; a cohort of n is released with exactly n people and once; a person has one place,
and is charged for it before the arm is known to anybody, within the budget of the project; what is released costs a
person what was charged; all that is decided follows from the seed and the releases.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from hashlib import sha256
from threading import RLock
from typing import Any, NamedTuple, TypeVar

import numpy as np

from maskedbandit.checks import number
from maskedbandit.errors import (
    BehindWitness,
    Conflict,
    Corrupted,
    FencedOff,
    InvalidValue,
    Late,
    MaskedBanditError,
    NotRunning,
    PersonalValue,
    RewardOutOfRange,
    StorageFailed,
    StoreError,
    UnknownStudy,
    UnknownTicket,
)
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.privacy.process import process
from maskedbandit.privacy.sampling import Bits
from maskedbandit.store.accounts import Accounts, Losses
from maskedbandit.store.chain import Entry, Head, entries, next_entry, verified
from maskedbandit.store.database import Again, Database
from maskedbandit.store.lease import LENGTH, may_be_alive, own_name
from maskedbandit.store.members import members, sealed
from maskedbandit.store.memory import memory_of, memory_text
from maskedbandit.store.witness import Witness
from maskedbandit.study.deck import Places
from maskedbandit.study.driver import Driver
from maskedbandit.study.protocol import Protocol

ATTEMPTS = 20  # at a transaction that others are in the way of
T = TypeVar("T")
Operation = Callable[[], T]


def system_clock() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Assigned(NamedTuple):
    """What a person gets. Without a ticket the person is served the arm, and nobody asks for a reward."""

    arm: int
    ticket: str | None
    propensity: Fraction  # the probability with which the person was to get this arm
    again: bool = False  # as before


class Reported(NamedTuple):
    """A report was taken; `again` if it came before, with the same value."""

    again: bool


class Release(NamedTuple):
    """A release, as it was made."""

    cohort: int
    arm: int
    n: int
    total: float
    loss: Loss


class Study:
    """A study of a database, held by this process alone.

    >>> from maskedbandit.store.studies import example
    >>> with example() as study:
    ...     ann = study.assign("ann")
    ...     study.expose(ann.ticket)
    ...     study.report(ann.ticket, 1).again, study.report(ann.ticket, 1).again
    (False, True)
    """

    def __init__(
        self,
        database: Database,
        witness: Witness,
        name: str,
        clock: Callable[[], int] = system_clock,
        holder: str | None = None,
    ) -> None:
        self.database, self.witness, self.name = database, witness, name
        self._clock, self._process, self._lock = clock, process(), RLock()
        self._holder = holder or own_name()
        found = database.one("SELECT project, protocol, seed FROM study WHERE study = ?", name)
        if found is None:
            known = ", ".join(each for (each,) in database.rows("SELECT study FROM study ORDER BY study"))
            raise UnknownStudy(f"there is no study {name!r} in this database (there are: {known or 'none'})")
        self.project, self.protocol, self._seed = found[0], Protocol.from_text(found[1]), bytes.fromhex(found[2])
        self._losses = Losses(database)
        self._people = witness.pseudonyms(self.project)
        self._key = witness.signing_key()
        self._bits = Bits()
        self._again(self._take)

    # what people's applications ask

    def assign(self, unit: str) -> Assigned:
        """The arm for a person, who is charged; the same one if the person has a place already."""
        return self.apply([partial(self.op_assign, unit)])[0].value()

    def expose(self, ticket: str) -> None:
        """The person saw the arm: from now on the outcome counts."""
        self.apply([partial(self.op_expose, ticket)])[0].value()

    def report(self, ticket: str, value: float, event: str = "") -> Reported:
        """What the person's outcome is, or one of several with an `event` each; a retry has no effect."""
        return self.apply([partial(self.op_report, ticket, value, event)])[0].value()

    def erase(self, unit: str) -> int:
        """Remove a person's data from this study: how many places that concerned. What was released stays."""
        return self.apply([partial(self.op_erase, unit)])[0].value()

    # what the clock and the owner ask

    def tick(self) -> list[Release]:
        """Do what is due: give back places that nobody saw, close cohorts, and release them."""
        return self.apply([self.op_tick])[0].value()

    def start(self) -> None:
        """Freeze the protocol and begin."""
        self.apply([partial(self.op_move, "started", ("draft",), "running")])[0].value()

    def pause(self) -> None:
        """Give no more places, until `resume`; reports and releases go on."""
        self.apply([partial(self.op_move, "paused", ("running",), "paused")])[0].value()

    def resume(self) -> None:
        """Go on after a pause."""
        self.apply([partial(self.op_move, "resumed", ("paused",), "running")])[0].value()

    def stop(self) -> None:
        """Give no more places, for ever; reports and releases of full cohorts go on."""
        self.apply([partial(self.op_move, "stopped", ("running", "paused"), "stopped")])[0].value()

    def archive(self) -> None:
        """Erase the data of all people; what was released, and what each was charged, stays."""
        self.apply([self.op_archive])[0].value()

    def releases(self) -> list[Release]:
        """All releases, in the order in which the policy was told."""
        with self._lock:
            found = self.database.rows(
                "SELECT cohort, arm, n, total, loss FROM release WHERE study = ? ORDER BY step", self.name
            )
            return [Release(*row[:4], loss=self._losses[row[4]]) for row in found]

    def close(self) -> None:
        """Give the study and the database back."""
        with self._lock:
            if process() == self._process:
                try:
                    with self.database.transaction():
                        free = "UPDATE study SET lease = 0 WHERE study = ? AND fence = ?"
                        self.database.change(free, self.name, self._fence)
                except (StoreError, Again):
                    pass  # somebody else has it, or will after the lease
            self.database.close()

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # transactions

    def apply(self, operations: Sequence[Operation[Any]]) -> list[Done]:
        """Do these in one transaction. A refusal is the result of its operation; a failure of the store undoes all."""
        with self._lock:
            if process() != self._process:
                raise InvalidValue("the process of this study", os.getpid(), "the one that opened it, not a fork of it")
            return self._again(partial(self._apply, operations))

    def _again(self, do: Operation[T]) -> T:
        for attempt in range(ATTEMPTS):
            try:
                return do()
            except Again as why:
                self._stale = True
                if attempt == ATTEMPTS - 1:
                    raise StorageFailed(f"other transactions were in the way {ATTEMPTS} times: {why}") from why
        raise AssertionError

    def _apply(self, operations: Sequence[Operation[Any]]) -> list[Done]:
        if self._stale:
            self._take()
        self._stale = True  # until the transaction is on disk
        before, done = self._head, list[Done]()
        self.database.begin()
        try:
            self._renew()
            for operation in operations:
                done.append(Done.of(operation))
            self._save()
            if self._head == before:
                self.database.commit()
            else:
                with self.witness.watching(self.name, before, self._head, self._worst.to_text()):
                    self.database.commit()
        except BaseException:
            self.database.rollback()
            raise
        self._stale = False
        return done

    def _take(self) -> None:
        """Take the study over, and make what is in memory from what is in the database."""
        database, name = self.database, self.name
        self._losses.forget()
        with database.transaction():
            now = system_clock()
            held = database.rows("SELECT holder, lease FROM study WHERE study = ?", name)[0]
            if held[0] != self._holder and held[1] > now and may_be_alive(held[0]):
                raise FencedOff(
                    f"another process holds {name} ({held[0]}): stop it, or wait until its lease ends "
                    f"in {(held[1] - now) / 1000:.0f} seconds"
                )
            take = "UPDATE study SET fence = fence + 1, holder = ?, lease = ? WHERE study = ?"
            database.change(take, self._holder, now + LENGTH, name)
            find = "SELECT fence, state, people, clock FROM study WHERE study = ?"
            self._fence, self.state, self.people, self.now = database.rows(find, name)[0]
            self._load()
        self._stale = False

    def _load(self) -> None:
        database, name = self.database, self.name
        self.accounts = Accounts(database, self._losses, self.project)
        found = entries(database, name)
        self._head = verified(name, found, self._key.public_key())
        self._check_witness(found)
        self._worst = ZERO
        releases = database.rows(
            "SELECT cohort, step, arm, n, total, loss, members FROM release WHERE study = ? ORDER BY step", name
        )
        check_releases(name, found, releases)
        for row in releases:
            self._worst |= self._losses[row[5]]
        decisions = database.rows(
            "SELECT step, number, arm, n, close FROM decision WHERE study = ? ORDER BY step", name
        )
        self.driver = self._replayed(decisions, releases)
        self._written = len(self.driver.log)
        self._memory = self.protocol.channel.memory(self.protocol.k)
        last = database.one("SELECT memory FROM release WHERE study = ? ORDER BY step DESC LIMIT 1", name)
        if last is not None:
            self._memory = memory_of(last[0], self._memory)
        seen = database.rows(
            "SELECT cohort, COUNT(exposed), MAX(exposed) FROM place "
            "WHERE study = ? AND returned IS NULL AND cohort >= ? GROUP BY cohort",
            *(name, first_open({row[0] for row in releases})),
        )
        self._exposed = {cohort: [int(count), latest or 0] for cohort, count, latest in seen}

    def _check_witness(self, found: list[Entry]) -> None:
        """Raise unless the ledger in the database goes on from what the witness has seen."""
        seen = self.witness.seen(self.name)
        if seen is None:
            if found:
                raise BehindWitness(
                    f"the witness in {self.witness.folder} has never seen {self.name}: name the folder that has, with "
                    "--witness"
                )
            return
        head, ours = seen.head, len(found)
        if head.entries > ours or (head.entries and found[head.entries - 1].hash != head.hash):
            raise BehindWitness(
                f"the ledger of {self.name} has {ours} entries here, and its witness in {self.witness.folder} has seen "
                f"{head.entries} that are not the same: this is a restored or another copy of the database. Use the "
                "newest one; if it is lost, `maskedbandit study reconcile` charges everybody for what is missing"
            )
        if head != self._head:  # a crash between the commit and the witness
            self.witness.saw(self.name, self._head, seen.worst)

    def _replayed(self, decisions: list[Any], releases: list[Any]) -> Driver:
        log = [("ask", *row[1:]) for row in decisions] + [("tell", row[0], row[3], row[4]) for row in releases]
        steps = [row[0] for row in decisions] + [row[1] for row in releases]
        if sorted(steps) != list(range(len(log))):
            raise Corrupted(f"a decision or a release of {self.name} is missing from its log")
        ordered = [log[i] for i in np.argsort(steps)]
        told = {row[0] for row in releases}
        dealt = self.database.rows(
            "SELECT cohort, place FROM place WHERE study = ? AND returned IS NULL AND cohort >= ?",
            *(self.name, first_open(told)),
        )
        protocol = self.protocol
        try:
            return Driver.replay(
                *(protocol.policy, protocol.channel.law(), protocol.k, protocol.aim, self._seed, ordered),
                dealt=[each for each in dealt if each[0] not in told],
            )
        except MaskedBanditError as why:
            raise Corrupted(f"the log of {self.name} is not one that this study can have written: {why}") from why

    def _renew(self) -> None:
        """Keep the lease; whoever was fenced off writes nothing."""
        self.now = max(self.now, self._clock())
        renew = "UPDATE study SET lease = ?, clock = ? WHERE study = ? AND fence = ?"
        if not self.database.change(renew, system_clock() + LENGTH, self.now, self.name, self._fence):
            raise FencedOff(f"another process has taken {self.name} over: nothing was done")

    def _save(self) -> None:
        """Write what the driver has asked, and how many people came."""
        for step in range(self._written, len(self.driver.log)):
            entry = self.driver.log[step]
            if entry[0] == "ask":
                new = "INSERT INTO decision VALUES (?, ?, ?, ?, ?, ?)"
                self.database.change(new, self.name, entry[1], step, *entry[2:])
        self._written = len(self.driver.log)
        self.database.change(
            "UPDATE study SET people = ?, state = ? WHERE study = ?", self.people, self.state, self.name
        )

    def _enter(self, **says: Any) -> None:
        """Add an entry to the ledger."""
        entry = next_entry(self.name, self._head, {**says, "at": self.now}, self._key)
        self.database.change("INSERT INTO entry VALUES (?, ?, ?, ?, ?)", self.name, *entry)
        self._head = Head(entry.number + 1, entry.hash)

    # operations, within a transaction

    def op_assign(self, unit: str) -> Assigned:
        """See `assign`."""
        person = self._people.of(checked_unit(unit))
        find = "SELECT arm, ticket, propensity FROM place WHERE study = ? AND person = ? AND returned IS NULL"
        if row := self.database.one(find, self.name, person):
            return Assigned(row[0], row[1], Fraction(row[2]), again=True)
        if self.state in ("draft", "archived"):
            raise NotRunning(f"{self.name} is {self.state}: nobody is given an arm")
        all_came = self.protocol.people is not None and self.people >= self.protocol.people
        enrols = self.state == "running" and not all_came
        given = (self.driver.assign if enrols else self.driver.serve)(self._bits)
        if given.cohort is None or given.place is None:
            self.people += 1
            return Assigned(given.arm, None, given.propensity)
        period = self.accounts.period(self.now)
        try:
            price = self._losses.number(self.protocol.price(self.driver.cohorts[given.cohort].size))
            self.accounts.charge(person, period, price)
        except MaskedBanditError:
            self.driver.give_back(given.cohort, given.place)
            raise
        ticket, seen = secrets.token_hex(16), None if self.protocol.reward.exposure else self.now
        self.database.change(
            "INSERT INTO place "
            "(study, ticket, cohort, place, arm, person, propensity, loss, period, assigned, exposed) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(self.name, ticket, given.cohort, given.place, given.arm, person, str(given.propensity), price, period),
            *(self.now, seen),
        )
        if seen is not None:
            self._saw(given.cohort)
        self.people += 1
        return Assigned(given.arm, ticket, given.propensity)

    def op_expose(self, ticket: str) -> None:
        """See `expose`."""
        cohort, assigned, exposed, returned = self._place(ticket)
        if exposed is None:
            self._expose(ticket, cohort, assigned, returned)

    def op_report(self, ticket: str, value: float, event: str = "") -> Reported:
        """See `report`."""
        cohort, assigned, exposed, returned = self._place(ticket)
        checked_event(event)
        self._check_value(value)
        find = "SELECT value FROM reward WHERE study = ? AND ticket = ? AND event = ?"
        if row := self.database.one(find, self.name, ticket, event):
            if row[0] != float(value):
                raise Conflict("this report came before, with another value: the first one stands")
            return Reported(again=True)
        if exposed is None:
            exposed = self._expose(ticket, cohort, assigned, returned)
        if self.now > exposed + self.protocol.reward.window or self.driver.cohorts[cohort].closed:
            raise Late("the window in which this outcome counts is over")
        self.database.change(
            "INSERT INTO reward VALUES (?, ?, ?, ?, ?, (SELECT COUNT(*) FROM reward WHERE study = ? AND ticket = ?))",
            *(self.name, ticket, event, float(value), self.now, self.name, ticket),
        )
        return Reported(again=False)

    def op_tick(self) -> list[Release]:
        """See `tick`."""
        if self.protocol.reward.exposure and self.state != "archived":
            unseen = self.database.rows(
                "SELECT ticket, cohort, place FROM place "
                "WHERE study = ? AND assigned < ? AND exposed IS NULL AND returned IS NULL",
                *(self.name, self.now - self.protocol.reward.exposure),
            )
            for ticket, cohort, place in unseen:
                back = "UPDATE place SET returned = ? WHERE study = ? AND ticket = ?"
                self.database.change(back, self.now, self.name, ticket)
                self.driver.give_back(cohort, place)
        released, waiting = list[Release](), set[int]()
        for places in self.driver.deck.unreleased():
            if places.arm in waiting or not self._due(places):
                waiting.add(places.arm)  # an arm's cohorts are released in order
            else:
                released.append(self._release(places))
        return released

    def op_move(self, kind: str, before: tuple[str, ...], after: str) -> None:
        """From one state of the study to another."""
        if self.state not in before:
            raise NotRunning(f"{self.name} is {self.state}: only one that is {' or '.join(before)} can be {kind}")
        if kind == "started":
            seed = sha256(b"maskedbandit seed" + self._seed).hexdigest()
            self._enter(kind=kind, protocol=self.protocol.digest, seed=seed)
        else:
            self._enter(kind=kind)
        self.state = after

    def op_erase(self, unit: str) -> int:
        """See `erase`."""
        person = self._people.of(checked_unit(unit))
        rows = self.database.rows(
            "SELECT ticket FROM place WHERE study = ? AND person = ? AND erased IS NULL", self.name, person
        )
        for (ticket,) in rows:
            self._erase(ticket)
        return len(rows)

    def op_archive(self) -> None:
        """See `archive`."""
        if self.state != "stopped":
            raise NotRunning(f"{self.name} is {self.state}: only one that is stopped can be archived")
        if any(places.full for places in self.driver.deck.unreleased()):
            raise NotRunning(f"{self.name} waits for rewards of a full cohort: archive it after its last release")
        for (ticket,) in self.database.rows("SELECT ticket FROM place WHERE study = ? AND erased IS NULL", self.name):
            self._erase(ticket)
        self._enter(kind="archived")
        self.state = "archived"

    # parts of operations

    def _place(self, ticket: str) -> Any:
        find = "SELECT cohort, assigned, exposed, returned FROM place WHERE study = ? AND ticket = ?"
        found = self.database.one(find, self.name, ticket) if type(ticket) is str and ticket.isalnum() else None
        if found is None:
            raise UnknownTicket(f"no place of {self.name} has this ticket")
        return found

    def _expose(self, ticket: str, cohort: int, assigned: int, returned: int | None) -> int:
        if returned is not None or self.now > assigned + self.protocol.reward.exposure:
            raise Late("nobody said in time that the arm was seen: the place went to another person")
        self.database.change("UPDATE place SET exposed = ? WHERE study = ? AND ticket = ?", self.now, self.name, ticket)
        self._saw(cohort)
        return self.now

    def _saw(self, cohort: int) -> None:
        seen = self._exposed.setdefault(cohort, [0, 0])
        seen[0], seen[1] = seen[0] + 1, max(seen[1], self.now)

    def _check_value(self, value: Any) -> None:
        if self.protocol.on_devices:
            if not number(value) or int(value) != value or abs(value) > 2**53:
                raise PersonalValue("a report", "the whole number that the device's channel made of the reward")
        elif not self.protocol.reward.allows(value):
            if (self.protocol.reward.least, self.protocol.reward.most) == (0, 1):
                raise RewardOutOfRange
            raise PersonalValue("a report", f"from {self.protocol.reward.least:g} to {self.protocol.reward.most:g}")

    def _due(self, places: Places) -> bool:
        """Whether all places of a cohort were dealt and seen, and the last one's window is over."""
        count, latest = self._exposed.get(places.cohort, (0, 0))
        return places.full and count == places.size and self.now > latest + self.protocol.reward.window

    def _release(self, places: Places) -> Release:
        """Close a cohort, seal who is in it, draw the noise, write the release, and tell the policy."""
        protocol, name, cohort = self.protocol, self.name, places.cohort
        self.driver.close(cohort)
        found = members(self.database, name, cohort)
        n, channel, bits = places.size, protocol.channel, Bits()  # fresh bits: none from before a fork or a snapshot
        if [member.place for member in found] != list(range(n)):
            raise Corrupted(f"cohort {cohort} of {name} has {len(found)} people in {n} places")
        offer = channel.offer(n)
        sent = [
            int(member.reports[0])
            if protocol.on_devices and member.reports
            else channel.randomize(protocol.reward.of(member.reports), offer.at(member.place), bits)
            for member in found
        ]
        total = float(channel.analyze(sum(sent), offer, bits, self._memory, places.arm, answers=n))
        loss, digest = protocol.price(n), sealed(found)
        step = len(self.driver.log)
        self.database.change(
            "INSERT INTO release VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(name, cohort, step, places.arm, n, total, self._losses.number(loss), digest, memory_text(self._memory)),
        )
        self._enter(
            kind="released",
            cohort=cohort,
            arm=places.arm,
            n=n,
            total=total.hex(),
            loss=loss.to_text(),
            members=digest,
            offer=offer.digest.hex(),
            step=step,
        )
        self._worst |= loss
        self.driver.tell(cohort, n, total)
        self._exposed.pop(cohort)
        return Release(cohort, places.arm, n, total, loss)

    def _erase(self, ticket: str) -> None:
        """Remove who had a place, its ticket and its rewards; of a released cohort the row's hash stays."""
        where = "WHERE study = ? AND ticket = ?"
        cohort, place = self.database.rows(f"SELECT cohort, place FROM place {where}", self.name, ticket)[0]
        leaf = None
        if self.driver.cohorts[cohort].release:
            leaf = next(each.leaf for each in members(self.database, self.name, cohort) if each.place == place)
        self.database.change(f"DELETE FROM reward {where}", self.name, ticket)
        self.database.change(
            f"UPDATE place SET person = NULL, ticket = ?, leaf = ?, erased = ? {where}",
            *(f"erased{secrets.token_hex(16)}", leaf, self.now, self.name, ticket),
        )


class Done(NamedTuple):
    """The result of an operation, or why it was refused."""

    result: Any
    refusal: MaskedBanditError | None = None

    @classmethod
    def of(cls, operation: Operation[Any]) -> Done:
        """Do it; a failure of the store is no refusal."""
        try:
            return cls(operation())
        except StoreError:
            raise
        except MaskedBanditError as why:
            return cls(None, why)

    def value(self) -> Any:
        """The result, or raise the refusal."""
        if self.refusal:
            raise self.refusal
        return self.result


def first_open(told: set[int]) -> int:
    """The first cohort that was not released; all before it were."""
    return next(cohort for cohort in range(len(told) + 1) if cohort not in told)


def check_releases(study: str, found: list[Entry], releases: Sequence[Any]) -> None:
    """Raise `Corrupted` unless the releases are those of the ledger, number for number."""
    said = {each["cohort"]: each for each in (entry.says for entry in found) if each["kind"] == "released"}
    for cohort, step, arm, n, total, _, digest in releases:
        entry = said.pop(cohort, None)
        if entry is None:
            raise Corrupted(f"the release of cohort {cohort} of {study} is not in the ledger")
        stored = {"step": step, "arm": arm, "n": n, "total": total.hex(), "members": digest}
        for name, value in stored.items():
            if entry[name] != value:
                raise Corrupted(
                    f"the {name} of the release of cohort {cohort} of {study} was changed: it is {value!r}, "
                    f"and the ledger says {entry[name]!r}"
                )
    if said:
        raise Corrupted(f"the release of cohort {min(said)} of {study} was removed: it is in the ledger alone")


def checked_unit(unit: Any) -> str:
    """The name by which the application knows a person."""
    if type(unit) is not str or not 1 <= len(unit) <= 256 or not unit.isprintable():
        raise PersonalValue("unit", "a str of 1 to 256 printable characters")
    return unit


def checked_event(event: Any) -> str:
    """The name of one of a person's reports."""
    if type(event) is not str or len(event) > 128 or not event.isprintable():
        raise PersonalValue("event", "a str of at most 128 printable characters")
    return event
