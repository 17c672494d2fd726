"""Bodies of all sorts for a shuffler: whatever is sent, the answer has a code that is known, and its mixes stay."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from maskedbandit.store.databases.connection import open_database
from tests.service.shuffler_inside import ShuffledStudy, shuffled_study
from tests.service.test_fuzz import mutated
from tests.service.test_shuffler_lies import ask_mix, write_bundle

TOGETHER = 64
ALLOWED = {200, 401, 403, 404, 405, 409, 410, 413, 422}
Request = tuple[str, str, bytes, str | None]


def send_requests(study: ShuffledStudy, random: Random) -> Iterator[Request]:
    """Requests whose bodies were changed a little, for ever."""
    with closing(open_database(study.service.address)) as database:
        ((credential,),) = database.rows("SELECT credential FROM pairing")
    sound: list[Request] = []
    for unit in study.places:
        body: dict[str, Any] = write_bundle(study, unit)
        sound.append(("POST", "/v1/studies/small/bundle", json.dumps(body).encode(), None))
        del body["sealed"]
        sound.append(("POST", "/v1/studies/small/withdraw", json.dumps(body).encode(), None))
    asked = json.dumps({"n": 4, "people": "A" * 43 + "=", "signature": "00" * 64}).encode()
    sound += [("POST", f"/v1/helping/small/cohorts/{cohort}/mix", asked, credential) for cohort in (0, 1, 2)]
    while True:
        method, path, whole, key = random.choice(sound)
        yield method, path, mutated(random, whole), key


def fuzz(study: ShuffledStudy, count: int, seed: int) -> Counter[int]:
    """Ask so often, some at the same time: how often each status came."""
    random, found = Random(seed), Counter[int]()
    study.report()
    said = ask_mix(study, 0, 4)
    assert said.status == 200

    async def one(request: Request) -> None:
        reply = await study.shuffler.asked(*request)
        assert reply.status in ALLOWED, (request, reply)
        assert reply.status == 200 or reply.code
        found[reply.status] += 1

    async def some() -> None:
        source = send_requests(study, random)
        for _ in range(count // TOGETHER):
            await asyncio.gather(*[one(next(source)) for _ in range(TOGETHER)])

    study.shuffler.run(some())
    assert ask_mix(study, 0, 4).body == said.body
    assert study.shuffler.verify().mixes == 1
    return found


def test_nothing_that_is_sent_stops_a_shuffler(tmp_path: Path) -> None:
    with shuffled_study(tmp_path) as study:
        study.come_all([1, 0] * 4)
        found = fuzz(study, 1024, 1)
        assert found[409] + found[422] > 500


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 4))
def test_nothing_of_much_that_is_sent_stops_a_shuffler(tmp_path: Path, seed: int) -> None:
    with shuffled_study(tmp_path) as study:
        study.come_all([1, 0] * 4)
        fuzz(study, 40_000, seed)
