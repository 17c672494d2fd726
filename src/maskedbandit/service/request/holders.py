"""Whoever holds a study: the writer in this process, or another process, to which a request goes on."""

from maskedbandit.errors import TooMany
from maskedbandit.service.host.elsewhere import Elsewhere
from maskedbandit.service.host.host import Host
from maskedbandit.store.writer import Writer

WAITING = 20_000  # operations of a study; more are refused


async def find_holder(host: Host, name: str, relayed: bool) -> Writer | Elsewhere:
    """Whoever answers for a study; what was sent here is sent no further, as it could go round for ever."""
    found = host.held.get(name) or await host.hold(name)
    if isinstance(found, Writer):
        if found.waiting > WAITING:
            raise TooMany("the study has more requests waiting than it can write: try again later")
    elif relayed:
        raise found.away()
    return found


async def find_writer(host: Host, name: str, relayed: bool) -> Writer:
    """The writer of a study, if this process holds it, or raise `HeldElsewhere`."""
    found = await find_holder(host, name, relayed)
    if isinstance(found, Elsewhere):
        raise HeldElsewhere(found)
    return found


async def find_writer_after(host: Host, away: Elsewhere) -> Writer:
    """The writer of a study whose holder is gone, and did not answer. It is asked again: perhaps nothing was done."""
    found = await host.replace_holder(away)
    if isinstance(found, Elsewhere):  # a third process was faster
        raise found.away()
    return found


class HeldElsewhere(Exception):
    """Another process holds the study."""

    def __init__(self, holder: Elsewhere) -> None:
        self.holder = holder
