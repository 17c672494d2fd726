"""Users that are sites: a sum is opened only if enough people are left without the heaviest sites that may collude."""

from hashlib import sha256
from random import Random

import pytest

from maskedbandit.errors import TooFew
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg.client import RoundClient
from maskedbandit.secagg.masks import KEY
from maskedbandit.secagg.messages import SURVIVORS, pack_flags, pack_message
from maskedbandit.secagg.plan import RoundPlan
from maskedbandit.secagg.server import RoundServer

SEED, WEIGHTS = bytes(32), (5, 20, 40, 35)


def until_values(people: int) -> tuple[RoundServer, dict[int, RoundClient], bytes]:
    """A round in which all four have sent their masked values; `people` must be left without the heaviest one."""
    plan = RoundPlan(
        b"weights", (0, 1, 2, 3), 3, 2, 3, 100, False, sha256(SEED).digest(), WEIGHTS, people, 1 if people else 0
    )
    clients = {user: RoundClient(plan, user, 7, Bits(Random(user).randbytes)) for user in plan.users}
    server = RoundServer(plan, SEED)
    sent = {user: client.start() for user, client in clients.items()}
    while server.phase != "masked values":
        for user, message in sent.items():
            server.receive(user, message)
        server.close()
        sent = {user: clients[user].receive(server.message_for(user)) for user in server.waiting}
    for user, message in sent.items():
        if user != 2:
            server.receive(user, message)
    return server, clients, sent[0][2 : 2 + KEY]


def tell(session: bytes) -> bytes:
    """A list of survivors without the heaviest site, though 25 people alone are left of the others if one colludes."""
    return pack_message(SURVIVORS, session, pack_flags(0b1011, 4))


def test_the_server_opens_no_sum_of_too_few_people() -> None:
    server, *_ = until_values(people=55)
    with pytest.raises(TooFew, match="25 honest people"):
        server.close()


def test_a_client_reveals_nothing_for_a_sum_of_too_few_people() -> None:
    _, clients, session = until_values(people=55)
    with pytest.raises(TooFew, match="25 honest people"):
        clients[0].receive(tell(session))


def test_without_weights_both_would() -> None:
    """A broken twin: the plan counts sites, and not people."""
    server, clients, session = until_values(people=0)
    assert clients[0].receive(tell(session))
    server.close()
    assert server.survivors == {0, 1, 3}
