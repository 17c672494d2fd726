"""A study in which this site takes part: written down once, with all keys, and held by one process.

register_site -> SiteStudy -> note_place -> ... -> take_report -> ... -> answer_round
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from maskedbandit.errors import Disagreement, FrozenProtocol, InvalidValue
from maskedbandit.secagg.signing import sign_bytes
from maskedbandit.store.accounts import Accounts, Losses
from maskedbandit.store.book.chain import ENTRY, NO_ENTRY, Head, next_link
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database, do_again
from maskedbandit.store.held_study import HeldStudy
from maskedbandit.store.own_keys import read_own_keys
from maskedbandit.store.sites.lists import ToldList, admit_lists, follow_told
from maskedbandit.store.sites.people import (
    erase_person_of_site,
    find_told_place,
    note_exposure,
    note_place,
    take_report,
)
from maskedbandit.store.sites.rounds import answer_round
from maskedbandit.store.sites.session import SiteSession, end_site
from maskedbandit.study.operators import OperatorKeys
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.site_stages import Stages, begin_stages, write_confirmation


class SiteStudy(HeldStudy[SiteSession]):
    """A site's part of a study, held by this process alone. `apply` does several operations in one transaction.

    **Guarantee**: an outcome leaves the site in one sum at most, with the noise shares of all people of the site in it;
    what the site agreed to is on disk and at the witness before anybody is told.
    """

    operations: ClassVar[dict[str, Callable[..., Any]]] = {  # by verb: functions of a session, within a transaction
        "place": find_told_place,
        "note_place": note_place,
        "expose": note_exposure,
        "report": take_report,
        "round": answer_round,
        "erase": erase_person_of_site,
        "end": end_site,
        "tick": admit_lists,
    }

    session_class = SiteSession

    @property
    def stages(self) -> Stages:
        """The lists of the sites to which this one agreed, as its ledger says on disk and at the witness."""
        return self._session.shown

    def confirm(self) -> tuple[str, str]:
        """The name of the newest list to which this site agreed, and its signature of it: the same each time."""
        name = self.stages[-1].name
        return name, sign_bytes(self._session.signer, write_confirmation(name))

    @property
    def state(self) -> str:
        """running, or stopped once the coordinator has archived the study."""
        return self._session.state


def register_site(
    database: Database,
    witness: Witness,
    text: str,
    keys: Sequence[OperatorKeys],
    coordinator: str,
    now: int,
    told: Sequence[ToldList] = (),
) -> Stages:
    """Write a study down in which this site takes part, with the public keys of all its sites: all its lists of them.

    There are those of the protocol, and the later ones that are `told`. Raise `Disagreement` unless the newest list has
    this site, and the first one is of these keys, and `FrozenProtocol` if there is another study of the same name.
    """
    protocol = Protocol.from_text(text)
    protocol.check()
    if (sites := protocol.sites) is None:
        raise InvalidValue("sites", None, "a [sites] table: without it no site takes part in a study")
    stages = follow_told(begin_stages(protocol.digest, sites, keys), told)
    for each in stages[1:]:
        protocol.among(each).check()
    if stages[-1].sites.number_of(read_own_keys(witness).fingerprint) is None:
        raise Disagreement(f"{protocol.name} names no site with the keys of this one")
    do_again(partial(write_site_study, database, witness, protocol, stages, coordinator, now))
    return stages


def write_site_study(
    database: Database, witness: Witness, protocol: Protocol, stages: Stages, coordinator: str, now: int
) -> None:
    """Write a study down, unless it is, and how its ledger begins."""
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
            "VALUES (?, ?, 'running', ?, '', 0, ?, 0, '', 0)",
            *(protocol.name, protocol.name, protocol.text, now),
        )
        says = {"kind": "site_began", "protocol": protocol.digest, "coordinator": coordinator, "at": now}
        says["sites"] = [[each.seals.hex(), each.signs.hex()] for each in stages[0].keys.values()]
        later = [ToldList(each.first, each.listed).to_table() for each in stages[1:]]
        head = NO_ENTRY
        for each in (says, *({"kind": "site_admitted", **one, "at": now} for one in later)):
            link = next_link(protocol.name, head, each, witness.signing_key())
            database.insert("entry", ENTRY, [(protocol.name, *link)])
            head = Head(link.number + 1, link.hash)
        with witness.watching(database, protocol.name, NO_ENTRY, head, protocol.price(1).to_text()):
            pass
