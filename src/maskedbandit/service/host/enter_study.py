"""A site enters a study of its coordinator, or looks at a new list of its sites, and agrees to it.

It reads the protocol, all lists of sites and all keys, checks them, and writes them down.
"""

from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import httpx

from maskedbandit.errors import InvalidValue, NotRunning, StorageFailed, UnknownStudy
from maskedbandit.service.host.partner_calls import PartnerAway, PartnerCalls
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database
from maskedbandit.store.lease import read_clock
from maskedbandit.store.pairing import Pairing, read_pairings
from maskedbandit.store.sites.lists import ToldList, agree_to_lists, look_at_lists
from maskedbandit.store.sites.study import register_site
from maskedbandit.store.studies import prepare_witness
from maskedbandit.study.operators import OperatorKeys
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.site_stages import SiteStage


class Entered(NamedTuple):
    """What the coordinator says of a study."""

    protocol: Protocol
    newest: SiteStage  # the newest list of its sites
    agreed: bool  # this site has agreed to it


class ToldStudy(NamedTuple):
    """A study as the coordinator tells it to a site."""

    protocol: str
    keys: list[OperatorKeys]  # of the sites of the protocol
    lists: list[ToldList]  # later ones


async def enter_study(
    address: str, folder: Path | None, study: str, transport: httpx.AsyncBaseTransport | None = None
) -> Entered:
    """Enter a study that was started, whose newest list names this site, or look at its newest list."""
    with closing(open_database(address)) as database:
        witness = prepare_witness(database, folder)
        coordinator = find_coordinator(database)
        found = await ask_for_study(coordinator, study, transport)
        protocol = Protocol.from_text(found.protocol)
        if database.one("SELECT study FROM study WHERE study = ?", study) is None:
            given = database, witness, found.protocol, found.keys, coordinator.fingerprint, read_clock(), found.lists
            return Entered(protocol, register_site(*given)[-1], True)
        book, stages = look_at_lists(database, witness, study, found.lists)
        if book.protocol != protocol:
            raise InvalidValue("protocol", protocol.digest, f"{book.protocol.digest}, with which this site entered it")
        return Entered(protocol, stages[-1], len(stages) == len(book.stages))


async def confirm_list(
    address: str, folder: Path | None, study: str, name: str, transport: httpx.AsyncBaseTransport | None = None
) -> None:
    """Agree to the newest list of the sites of a study, which has this hash."""
    with closing(open_database(address, create=False)) as database:
        witness = prepare_witness(database, folder)
        if database.one("SELECT study FROM study WHERE study = ?", study) is None:
            raise UnknownStudy(f"this site has not entered {study}: `maskedbandit site enter` does")
        found = await ask_for_study(find_coordinator(database), study, transport)
        agree_to_lists(database, witness, study, found.lists, name)


def find_coordinator(database: Database) -> Pairing:
    """The coordinator that this site has joined."""
    paired = [each for each in read_pairings(database) if each.role == "coordinator"]
    if not paired:
        raise NotRunning("this site has joined no coordinator: `maskedbandit site join` does")
    return paired[-1]


async def ask_for_study(coordinator: Pairing, study: str, transport: httpx.AsyncBaseTransport | None) -> ToldStudy:
    """What the coordinator says of a study that was started."""
    calls = PartnerCalls(coordinator.address, coordinator.credential, transport, "coordinator")
    try:
        found = await calls.ask("GET", f"/v1/studies/{study}/site")
    except PartnerAway as why:
        raise StorageFailed(f"{why}: nothing was stored") from None
    finally:
        await calls.close()
    text, sites, lists = found.get("protocol"), found.get("sites"), found.get("lists")
    if (
        not isinstance(text, str)
        or not isinstance(sites, list)
        or not isinstance(lists, list)
        or not all(isinstance(each, list) for each in sites)
    ):
        raise InvalidValue("study of the coordinator", "not shown", "a protocol, two keys of each site, and lists")
    if not sites:
        raise NotRunning(f"{study} was not started: its coordinator has not the keys of all sites yet")
    keys = [OperatorKeys.from_text(*(each if len(each) == 2 else ("", ""))) for each in sites]
    return ToldStudy(text, keys, [ToldList.from_table(each) for each in lists])
