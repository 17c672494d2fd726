"""What other processes do in the tests of races; this file imports no more than they need."""

import os
from functools import partial
from pathlib import Path
from random import Random
from threading import Event
from typing import Any, NamedTuple

from maskedbandit.errors import BudgetExceeded, Conflict, FencedOff
from maskedbandit.privacy.loss import Loss
from maskedbandit.store import start
from maskedbandit.store.accounts import FOREVER, Accounts, Losses
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Again, Database
from maskedbandit.store.groups import check_group
from maskedbandit.store.lots import StudyLots
from maskedbandit.store.studies import find_witness
from maskedbandit.store.study import Study
from maskedbandit.study.protocol import Protocol

LATE = 600  # seconds after which a test has failed
PEOPLE = ("ann", "bob")


class Case(NamedTuple):
    """A budget and the losses that processes charge; about ten fit it."""

    budget: Loss
    losses: tuple[Loss, ...]


def cases() -> dict[str, Case]:
    """By project."""
    return {
        "pure": Case(Loss.pure(1), (Loss.pure("0.1"), Loss.pure("0.07"), Loss.pure("0.13"))),
        "zcdp": Case(Loss.zcdp("0.5"), (Loss.zcdp("0.05"), Loss.zcdp("0.03"))),
        "approximate": Case(
            Loss.approximate(2, "1e-6"), (Loss.zcdp("0.005"), Loss.pure("0.1"), Loss.discrete_gaussian(100))
        ),
    }


class Racing(NamedTuple):
    """What every process that charges is given."""

    address: str
    naive: bool
    attempts: int  # of each process, in each project
    seed: int


class Naive(Accounts):
    """A mutant that reads, checks and writes whatever became of the account meanwhile."""

    barrier: Any = None

    def charge(self, person: str, period: int, loss: int, ticket: str) -> None:
        which = self.project, person, period
        find = "SELECT first, spent FROM account WHERE project = ? AND person = ? AND period = ?"
        first, spent = self._charged(self._database.one(find, *which), loss)
        if Naive.barrier is not None:  # the first time all processes have read before anyone writes
            Naive.barrier.wait(LATE)
            Naive.barrier = None
        new = "INSERT INTO account (project, person, period, first, spent, tickets) VALUES (?, ?, ?, ?, ?, ?)"
        change = "ON CONFLICT (project, person, period) DO UPDATE SET spent = ?"
        self._database.change(f"{new} {change}", *which, first, spent, f"{ticket} ", spent)

    def write(self) -> None:
        """It is written already."""


def charge_many(racing: Racing, number: int, barrier: Any, granted: Any) -> None:
    """Charge people in all projects, as fast as possible; at the end say what was granted, and how often not."""
    database, draws = open_database(racing.address), Random(racing.seed * 1000 + number)
    losses, kind = Losses(database), Naive if racing.naive else Accounts
    accounts = {project: kind(database, losses, project) for project in cases()}
    barrier.wait(LATE)
    Naive.barrier = barrier
    found: list[tuple[str, str, str]] = []
    refused = again = 0
    for i in range(racing.attempts):
        for project, case in cases().items():
            person, loss = (PEOPLE[0], case.losses[0]) if i == 0 else (draws.choice(PEOPLE), draws.choice(case.losses))
            done = False
            while not done:
                try:
                    if racing.naive:
                        charge(accounts[project], losses, person, loss)
                    else:
                        with database.transaction():
                            charge(accounts[project], losses, person, loss)
                    found.append((project, person, loss.to_text()))
                    done = True
                except (BudgetExceeded, Again) as why:
                    done = isinstance(why, BudgetExceeded)
                    refused, again = refused + done, again + (not done)
                    losses.forget()  # what it wrote was undone
                    accounts[project].forget()
    database.close()
    granted.put((found, refused, again))


def charge(accounts: Accounts, losses: Losses, person: str, loss: Loss) -> None:
    """Charge a person."""
    accounts.charge(person, FOREVER, losses.number(loss), "ticket")
    accounts.write()


def hold(address: str, folder: Path, name: str, barrier: Any, told: Any) -> None:
    """Open a study when all others do, and keep it until killed."""
    database: Database = open_database(address)
    barrier.wait(LATE)
    try:
        study = Study(database, find_witness(database, folder), name)
    except FencedOff:
        told.put((os.getpid(), "fenced_off"))
        database.close()
        return
    assigned = study.assign("somebody")
    told.put((os.getpid(), assigned.ticket))
    Event().wait(LATE)


def name_enrolled(folder: Path, text: str, units: list[str], told: Any) -> None:
    """Who of these is in the ramp of a study that has just been started, by the keys in a folder."""
    protocol, witness = Protocol.from_text(text), Witness(next(folder.iterdir()))
    lots, names = StudyLots(protocol, witness), witness.pseudonyms(protocol.project)
    told.put([unit for unit in units if protocol.enrolment.turn_away({}, lots.of(names.of(unit))) is None])


def start_one(address: str, folder: Path, name: str, barrier: Any, told: Any, naive: bool) -> None:
    """Start a study when all others do: what came of it. If naive, without a lock, and all check before any commits."""
    database = open_database(address)
    study = Study(database, find_witness(database, folder), name)
    if naive:
        start.check_group = partial(check_without_lock, barrier)
    barrier.wait(LATE)
    try:
        study.start()
        told.put((name, "started"))
    except Conflict as why:
        told.put((name, str(why)))
    study.close()


def check_without_lock(barrier: Any, session: Any) -> None:
    """The mutant's check."""
    database, change = session.database, session.database.change
    database.change = lambda text, *values: 0 if text.startswith("UPDATE project") else change(text, *values)
    check_group(session)
    database.change = change
    barrier.wait(LATE)
