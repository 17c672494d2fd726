"""Many studies of two operators at once: two services, joined by their messages, and people who may never report."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from os import urandom
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, NamedTuple

import httpx

from maskedbandit.device.own_place import OwnPlace, read_place
from maskedbandit.device.sealing import seal_upload
from maskedbandit.service.host.partner_calls import PartnerCalls
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.own_keys import read_own_keys
from maskedbandit.store.pairing import sign_invitation, write_pairing
from maskedbandit.study.operators import OperatorKeys
from tests.quick import QUICK
from tests.service.helper_inside import HelperInside
from tests.service.inside import TABLE, Inside, Reply
from tests.service.two_operators_inside import ADDRESS
from tests.store.two_operators import name_operators

WINDOW = 1000  # milliseconds


class HelperWire(httpx.AsyncBaseTransport):
    """Carries what the leader asks to the application of a helper, which has a thread of its own."""

    def __init__(self, helper: Any, thread: ThreadPoolExecutor) -> None:
        self.helper, self.thread, self.asked = helper, thread, 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The answer of the helper."""
        self.asked += 1
        path = request.url.raw_path.decode()
        given = request.method, path, await request.aread() or None, None, [*request.headers.items()]
        found = self.thread.submit(self.helper.ask, *given).result()
        return httpx.Response(found.status, headers=found.headers, content=found.body)


class CohortOfTwo(NamedTuple):
    """A cohort that was released: what the release says, and what it would say without noise."""

    total: float
    told: int  # by devices whose reports came
    reports: int  # that are in it, as the helper states


class StudyOfTwo:
    """A study, and what its people's devices said."""

    def __init__(self, name: str, people: int) -> None:
        self.name, self.people, self.came = name, people, 0
        self.arms, self.told = list[str](), dict[int, int]()
        self.deck: Any = None


class ManyStudiesOfTwo:
    """Both services, and the studies that are under way."""

    second: ClassVar[Any] = HelperInside
    taken_for: ClassVar[int] = WINDOW  # milliseconds in which reports count

    def __init__(self, folder: Path, thread: ThreadPoolExecutor) -> None:
        self.leader = Inside(f"sqlite:///{folder}/leader.db", folder / "leader")
        for each in (self.leader.host.devices, self.leader.host.tickets):
            each.rate = each.burst = 1e9  # all devices of these studies are in one place
        self.thread, clock = thread, self.leader.clock
        self.helper = thread.submit(
            lambda: self.second(f"sqlite:///{folder}/helper.db", folder / "helper", clock)
        ).result()
        self.wire = self.leader.host.links.transport = HelperWire(self.helper, thread)
        self.operators = self.pair()

    def pair(self) -> dict[str, Any]:
        """Both are paired by their own messages: the [operators] of their studies."""
        own, token = read_own_keys(self.leader.host.witness), self.thread.submit(self.helper.invite).result()

        async def ask() -> dict[str, Any]:
            calls = PartnerCalls(ADDRESS, "", self.wire)
            body = {"token": token, "name": "Clinic", "seals": own.seals.hex(), "signs": own.signs.hex()}
            body["signature"] = sign_invitation(self.leader.host.witness.signing_key(), own, token)
            return await calls.ask("POST", "/v1/helper/pair", body)

        said = self.leader.run(ask())
        keys = OperatorKeys.from_text(said["seals"], said["signs"])
        with closing(open_database(self.leader.address)) as database, database.transaction():
            write_pairing(database, keys, "helper", "University", ADDRESS, said["credential"], self.leader.clock())
        return name_operators(own, keys)

    def close(self) -> None:
        """End both as servers end."""
        self.leader.close()
        self.thread.submit(self.helper.close).result()

    async def begin(self, name: str, table: dict[str, Any]) -> StudyOfTwo:
        """A running study."""
        given = TABLE | table | {"name": name, "project": name, "operators": self.operators}
        assert (await self.leader.asked("POST", "/v1/studies", given, "owner")).status == 201
        assert (await self.leader.started(name)).status == 200
        made, held = StudyOfTwo(name, given["people"]), await self.leader.host.hold(name)
        made.deck = held.study._session.driver.deck
        return made

    async def come(self, study: StudyOfTwo, many: int, values: Callable[[str], int], gone: Callable[[], bool]) -> None:
        """So many people come and see the arm, and the devices of those who are not gone report."""
        path = f"/v1/studies/{study.name}"
        asked = {"requests": [{"unit": f"{study.name} {study.came + i}"} for i in range(many)]}
        study.came += many
        items = (await self.leader.asked("POST", f"{path}/assign/batch", asked)).json["items"]
        given = [each["answer"] for each in items]
        study.arms += [each["arm"] for each in given]
        seen = [each for each in given if each["ticket"] is not None]
        if seen:
            asked = {"requests": [{"ticket": each["ticket"]} for each in seen]}
            assert (await self.leader.asked("POST", f"{path}/expose/batch", asked)).status == 200
        for each in seen:
            value = values(each["arm"])  # the outcome of a person who is gone is one, too
            place = read_place(each["device"] | {"exposed": self.leader.clock()})
            if gone():
                continue
            assert place.cohort is not None
            found = await self.send(study, place, value)
            assert (found.status, found.json["status"]) == (200, "stored"), found
            study.told[place.cohort] = study.told.get(place.cohort, 0) + value

    async def send(self, study: StudyOfTwo, place: OwnPlace, value: int) -> Reply:
        """The device of a place reports a value."""
        body = seal_upload(place, value, 0, urandom).encode()
        return await self.leader.asked("POST", f"/v1/studies/{study.name}/upload", body, None)

    def settle(self) -> None:
        """The windows are over, and both operators release what is due."""
        self.leader.clock.now += self.taken_for + 1
        self.leader.tick()
        self.leader.run(self.leader.host.links.rest())

    def play(self, studies: list[StudyOfTwo], values: Callable[[str], int], gone: Callable[[], bool]) -> None:
        """All studies from their first person to their last."""

        async def wave() -> None:
            for each in studies:
                if each.came < each.people:
                    await self.come(each, 1, values, gone)  # who has the policy ask
                many = min(each.deck.left or 50, each.people - each.came)
                if many:
                    await self.come(each, many, values, gone)

        while any(each.came < each.people for each in studies):
            self.leader.run(wave())
            self.settle()

    def read_entries(self, study: StudyOfTwo) -> list[dict[str, Any]]:
        """What the leader's ledger says of the releases of a study."""
        entries = self.leader.ask("GET", f"/v1/studies/{study.name}/ledger", None, "officer").json["entries"]
        return [each for each in (json.loads(entry["body"]) for entry in entries) if each["kind"] == "released"]

    def read_last_means(self, study: StudyOfTwo) -> dict[int, float]:
        """The mean of the last release of each arm."""
        return {each["arm"]: float.fromhex(each["total"]) / each["n"] for each in self.read_entries(study)}

    def read(self, study: StudyOfTwo) -> list[CohortOfTwo]:
        """What was released of a study."""
        return [
            CohortOfTwo(
                float.fromhex(each["total"]), study.told.get(each["cohort"], 0), json.loads(each["helper"])["reports"]
            )
            for each in self.read_entries(study)
        ]


@contextmanager
def many_studies_of_two(kind: type[ManyStudiesOfTwo] = ManyStudiesOfTwo) -> Iterator[Any]:
    """Both services, with databases in memory where there is a folder for that."""
    with TemporaryDirectory(dir=QUICK) as folder, ThreadPoolExecutor(1) as thread:
        made = kind(Path(folder), thread)
        try:
            yield made
        finally:
            made.close()
