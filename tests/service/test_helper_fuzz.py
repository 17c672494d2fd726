"""Bodies of all sorts for a helper: whatever is sent, the answer has a code that is known, and its totals stay."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from maskedbandit.store.pairing import sign_invitation
from tests.altered_messages import SHARE, count_messages, mutate_body
from tests.service.helper_inside import PATH, HelperInside, PlayedLeader, helped_leader

TOGETHER = 64
ALLOWED = {200, 401, 403, 404, 405, 409, 413, 422}
Request = tuple[str, str, bytes, str | None]


def send_requests(leader: PlayedLeader, random: Random) -> Iterator[Request]:
    """Requests whose bodies were changed a little, for ever."""
    offered, _ = leader.send_all(1)
    signature = sign_invitation(leader.witness.signing_key(), leader.keys, "x")  # which is no invitation
    keys = {"seals": leader.keys.seals.hex(), "signs": leader.keys.signs.hex(), "signature": signature}
    sound: list[Request] = []
    for method, path, body in (
        ("POST", f"{PATH}/cohorts/1/reports", {"n": 4, "reports": offered}),
        ("POST", f"{PATH}/cohorts/1/reports", {"n": 4, "reports": offered[:1]}),
        ("POST", f"{PATH}/cohorts/0/total", leader.write_request(0, offered)),
        ("POST", f"{PATH}/cohorts/2/total", leader.write_request(2, [])),
        ("PUT", PATH, {"protocol": leader.protocol.text}),
        ("POST", "/v1/helper/pair", {"token": "x", "name": "Clinic"} | keys),
    ):
        credential = None if path.endswith("pair") else leader.credential
        sound.append((method, path, json.dumps(body).encode(), credential))
    while True:
        method, path, body, credential = random.choice(sound)
        yield method, path, mutate_body(random, body), credential


def fuzz(leader: PlayedLeader, count: int, seed: int) -> Counter[int]:
    """Ask so often, some at the same time: how often each status came."""
    helper, random, found = leader.helper, Random(seed), Counter[int]()
    assert isinstance(helper, HelperInside)
    done, _ = leader.send_all(0)
    assert leader.offer(0, done).status == 200
    said = leader.total(0, done)

    async def one(request: Request) -> None:
        reply = await helper.asked(*request)
        assert reply.status in ALLOWED, (request, reply)
        assert reply.status == 200 or reply.code
        found[reply.status] += 1

    async def some() -> None:
        source = send_requests(leader, random)
        for _ in range(count // TOGETHER):
            await asyncio.gather(*[one(next(source)) for _ in range(TOGETHER)])

    helper.run(some())
    assert leader.total(0, done) == said
    helper.verify()
    return found


@pytest.mark.slow
def test_forty_thousand_mutated_bodies(address: str, tmp_path: Path) -> None:
    with helped_leader(address, tmp_path) as leader:
        found = fuzz(leader, len(count_messages(40_000)), 2)
        assert {200, 401, 409, 422} <= found.keys()
        assert found[200] > 2500 * SHARE
