"""What the routes of a helper, or a shuffler, ask for first: its host, and whether the study's leader asks."""

from typing import Any

from maskedbandit.service.host.helper import ServingHost
from maskedbandit.service.paired_keys import LEADER_ROLE
from maskedbandit.service.request.holders import find_writer
from maskedbandit.service.request.route import Call
from maskedbandit.store.helping.study import ServingStudy


def find_host(call: Call) -> ServingHost:
    """The host of a helper, or of a shuffler."""
    host: Any = call.host
    assert isinstance(host, ServingHost)
    return host


async def take_guest(call: Call) -> None:
    """Count a request that needs no credential, by where it comes from."""
    find_host(call).guests.take(await call.scope["app"].asking(call.scope, call.receive, call.send))


async def find_help(call: Call) -> ServingStudy[Any]:
    """The help of the study that the path names, which this process holds, or raise `Forbidden` to another leader."""
    found = (await find_writer(call.host, call.study, call.relayed)).study
    assert isinstance(found, ServingStudy)
    if call.key is not None and call.key.role == LEADER_ROLE:
        found.check_leader(call.key.key)
        find_host(call).contacts[call.key.key] = call.host.clock()
    return found
