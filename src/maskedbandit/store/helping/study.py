"""A study of another operator that this one helps: written down once, and held by one process.

register_study -> HelperStudy -> take_reports -> ... -> make_total -> take_reports -> ...
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, ClassVar, TypeVar

from maskedbandit.errors import Disagreement, Forbidden, FrozenProtocol, InvalidValue
from maskedbandit.secagg.helper_total import HelperTotal
from maskedbandit.store.accounts import Accounts, Losses
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database, do_again
from maskedbandit.store.held_study import HeldStudy
from maskedbandit.store.helping.reports import OfferedReport, ReportAnswer, take_reports
from maskedbandit.store.helping.serving_session import ServingSession, close_help
from maskedbandit.store.helping.session import HelperSession
from maskedbandit.store.helping.totals import make_total
from maskedbandit.store.holding import check_still_newest
from maskedbandit.store.own_keys import read_own_keys
from maskedbandit.study.protocol import Protocol

ServingKind = TypeVar("ServingKind", bound=ServingSession)


class ServingStudy(HeldStudy[ServingKind]):
    """The second operator's part of a study, held by this process alone."""

    @property
    def state(self) -> str:
        """running, or stopped once the study ended, or a copy was reconciled in which something is missing."""
        return self._session.state

    @property
    def leader(self) -> str:
        """The fingerprint of the leader's keys."""
        return self._session.operators.leader.key

    def check_leader(self, fingerprint: str) -> None:
        """Raise `Forbidden` unless this is the leader of the study."""
        if fingerprint != (leader := self._session.operators.leader).key:
            raise Forbidden(f"{self.name} is led by {leader.name}, and another leader asks for it")

    def close_help(self) -> None:
        """Make nothing of the study any more, which has ended, and erase what is left of people."""
        self._do("close_help")

    def tick(self) -> None:
        """Go on holding the study, or raise `BehindWitness` if another copy of the database has gone on instead."""
        self._do("tick")


class HelperStudy(ServingStudy[HelperSession]):
    """The helper's part of a study, held by this process alone. `apply` does several operations in one transaction.

    **Guarantee**: a report is in one cohort, and a cohort has one total, with a whole draw of noise, of reports whose
    proofs hold; it is made once, is on disk and at the witness before anybody is told, and its shares are erased.
    """

    operations: ClassVar[dict[str, Callable[..., Any]]] = {  # by verb: functions of a session, within a transaction
        "take_reports": take_reports,
        "make_total": make_total,
        "close_help": close_help,
        "tick": check_still_newest,
    }

    session_class = HelperSession

    def take_reports(self, cohort: int, n: int, reports: Sequence[OfferedReport]) -> list[ReportAnswer]:
        """Check the proofs of reports of a cohort of n: what the leader is told of each."""
        found: list[ReportAnswer] = self._do("take_reports", cohort, n, reports)
        return found

    def make_total(self, cohort: int, n: int, left_out: Collection[int], digest: str, signature: str) -> HelperTotal:
        """The signed total of a cohort, of the list of reports with this digest, for which the leader signed."""
        found: HelperTotal = self._do("make_total", cohort, n, left_out, digest, signature)
        return found


def register_study(
    database: Database, witness: Witness, text: str, leader: str, name: str | None = None, shuffles: bool = False
) -> Protocol:
    """Write a study down that this operator is to help, as the leader with this fingerprint has frozen it.

    Raise `Disagreement` unless its protocol names this helper and that leader, and `FrozenProtocol` if there is another
    of the same name. A `name` that is given is that of the protocol. Studies of a shuffler are not for a helper, which
    adds up, nor the other way round.
    """
    if (protocol := Protocol.from_table(read_table(text))).text != text:
        raise InvalidValue("protocol", "not shown", "in the one form of which devices know the hash")
    if name not in (None, protocol.name):
        raise InvalidValue("name of the study", name, f"that of the protocol, {protocol.name}")
    if (operators := protocol.operators) is None:
        raise InvalidValue("operators", None, "a leader and a helper: without them a study has no use for a helper")
    if protocol.shuffled != shuffles:
        allowed = "shuffled or split_and_mix, as this is a shuffler" if shuffles else "two_servers, as this is a helper"
        raise InvalidValue("channel", protocol.channel, allowed)
    own = read_own_keys(witness).fingerprint
    for role, named, here in (("helper", operators.helper.key, own), ("leader", operators.leader.key, leader)):
        if named != here:
            raise Disagreement(
                f"the {role} of {protocol.name} has the fingerprint {named} in the protocol, and {here} here"
            )
    do_again(partial(write_helped, database, witness, protocol))
    return protocol


def read_table(text: str) -> dict[str, Any]:
    """The table of a protocol that a leader sent."""
    try:
        table = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        table = None
    if not isinstance(table, dict):
        raise InvalidValue("protocol", "not shown", "a table in JSON")
    return table


def write_helped(database: Database, witness: Witness, protocol: Protocol) -> None:
    """Write a study down, unless it is: as a project of its own, as a helper charges nobody."""
    with database.transaction():
        found = database.one("SELECT protocol FROM study WHERE study = ?", protocol.name)
        if found is not None:
            if found[0] != protocol.text:
                raise FrozenProtocol(f"{protocol.name} is here with another protocol, which cannot be changed")
            return
        witness.expect(protocol.name)
        Accounts.create(database, Losses(database), protocol.name, protocol.budget, None)
        database.change(
            "INSERT INTO study (study, project, state, protocol, seed, people, reached, fence, holder, lease) "
            "VALUES (?, ?, 'draft', ?, '', 0, 0, 0, '', 0)",
            *(protocol.name, protocol.name, protocol.text),
        )
