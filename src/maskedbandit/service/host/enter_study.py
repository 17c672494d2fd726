"""A site enters a study of its coordinator: it reads the protocol and all keys, checks them, and writes them down."""

from contextlib import closing
from pathlib import Path

import httpx

from maskedbandit.errors import InvalidValue, NotRunning, StorageFailed
from maskedbandit.service.host.partner_calls import PartnerAway, PartnerCalls
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.lease import read_clock
from maskedbandit.store.pairing import read_pairings
from maskedbandit.store.sites.study import register_site
from maskedbandit.store.studies import prepare_witness
from maskedbandit.study.operators import OperatorKeys
from maskedbandit.study.protocol import Protocol


async def enter_study(
    address: str, folder: Path | None, study: str, transport: httpx.AsyncBaseTransport | None = None
) -> Protocol:
    """Enter a study that was started, whose protocol names this site."""
    with closing(open_database(address)) as database:
        witness = prepare_witness(database, folder)
        paired = [each for each in read_pairings(database) if each.role == "coordinator"]
        if not paired:
            raise NotRunning("this site has joined no coordinator: `maskedbandit site join` does")
        calls = PartnerCalls(paired[-1].address, paired[-1].credential, transport, "coordinator")
        try:
            found = await calls.ask("GET", f"/v1/studies/{study}/site")
        except PartnerAway as why:
            raise StorageFailed(f"{why}: nothing was stored") from None
        finally:
            await calls.close()
        text, sites = found.get("protocol"), found.get("sites")
        if (
            not isinstance(text, str)
            or not isinstance(sites, list)
            or not all(isinstance(each, list) for each in sites)
        ):
            raise InvalidValue("study of the coordinator", "not shown", "a protocol, and two keys of each site")
        if not sites:
            raise NotRunning(f"{study} was not started: its coordinator has not the keys of all sites yet")
        keys = [OperatorKeys.from_text(*(each if len(each) == 2 else ("", ""))) for each in sites]
        return register_site(database, witness, text, keys, paired[-1].fingerprint, read_clock())
