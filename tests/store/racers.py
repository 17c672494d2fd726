"""What other processes do in the tests of races; this file imports no more than they need."""

import os
from pathlib import Path
from random import Random
from threading import Event
from typing import Any, NamedTuple

from maskedbandit.errors import BudgetExceeded, FencedOff
from maskedbandit.privacy.loss import Loss
from maskedbandit.store.accounts import FOREVER, Accounts, Losses
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Again, Database
from maskedbandit.store.studies import find_witness
from maskedbandit.store.study import Study

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
