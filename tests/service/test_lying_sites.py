"""What a site that lies may send to its coordinator, and a coordinator about people and studies: it is refused by name.

What is refused changes nothing, and the round goes on to its sum with what the site sends in truth.
"""

import asyncio
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from maskedbandit.errors import Disagreement, InvalidValue
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.secagg.kept_round import RoundAnswer
from maskedbandit.secagg.masks import KEY, VALUE_SIZE
from maskedbandit.secagg.messages import SIGNATURE
from maskedbandit.service.host.enter_study import enter_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.pairing import read_pairings
from tests.secagg.lies import flipped
from tests.service.inside import Reply
from tests.service.sites_inside import CoordinatorWire, SiteInside, SitesInside, wait_for_links

HEAD = 2 + KEY
PATH = "/v1/studies/small/site"
BACKEND = {"name": "sites", "lost": 1}
CHANNEL = {"name": "distributed", "epsilon": 1, "honest": "1/2", "backend": BACKEND}


class LyingSite:
    """Site 0 of four, whose answers the test alters; the others are honest."""

    def __init__(self, folder: Path) -> None:
        self.all = SitesInside(folder, 4, channel=CHANNEL)
        self.sums = self.all.fill()
        self.all.clock.now += 21_000
        self.credential = self.credential_of(0)
        self.all.coordinator.tick(1)

    def credential_of(self, number: int) -> str:
        """With what a site asks its coordinator."""
        with closing(open_database(self.all.addresses[number])) as database:
            return read_pairings(database)[-1].credential

    def ask(self, path: str, body: Any, key: str | None = "") -> Reply:
        """What the coordinator answers this site, or whoever has another key."""
        return self.all.coordinator.ask("POST", PATH + path, body, self.credential if key == "" else key)

    def send(self, answer: RoundAnswer) -> Reply:
        """Send an answer of a round."""
        given = {name: getattr(answer, name) for name in ("cohort", "attempt", "phase")}
        message = urlsafe_b64encode(answer.message).decode()
        return self.ask("/rounds", {"answers": [given | {"message": message}]})

    @property
    def stored(self) -> list[Any]:
        """What the coordinator has of rounds."""
        with closing(open_database(self.all.coordinator.address)) as database:
            return database.rows("SELECT * FROM round_message ORDER BY cohort, attempt, phase, party")

    def turn(self, site: SiteInside) -> list[RoundAnswer]:
        """A turn of a site: what it will answer."""
        site.tick()
        site.run(wait_for_links(site.host))
        return list(site.host.links["small"]._answers)

    def until(self, phase: int) -> RoundAnswer:
        """The round of the first cohort goes on until site 0 has an answer for this phase, which it has not sent."""
        for _ in range(40):
            found = [each for each in self.turn(self.all.sites[0]) if each.cohort == 0]
            if found and found[0].phase == phase:
                return found[0]
            for site in self.all.sites[1:]:
                self.turn(site)
        raise AssertionError("the phase never comes")


@pytest.fixture
def it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LyingSite]:
    monkeypatch.setattr(DiscreteLaplace, "sum_of_shares", lambda self, people, n, bits: 0)
    made = LyingSite(tmp_path)
    yield made
    made.all.close()


Alter = Callable[[bytes], bytes]
ALTERED: list[tuple[int, str, Alter, str]] = [  # phase, what, how, the name of the refusal
    (0, "keys that are not signed", lambda m: flipped(m, HEAD), "forged"),
    (0, "a signature of others", lambda m: m[:-SIGNATURE] + bytes(SIGNATURE), "forged"),
    (0, "a key of low order", lambda m: m[:HEAD] + bytes(KEY) + m[HEAD + KEY :], "forged"),
    (1, "fewer sealed key shares", lambda m: m[:-1], "malformed"),
    (1, "more sealed key shares", lambda m: m + b"x", "malformed"),
    (2, "a value beyond the modulus", lambda m: m[:-VALUE_SIZE] + b"\xff" * VALUE_SIZE, "malformed"),
    (2, "two values", lambda m: m + m[-VALUE_SIZE:], "malformed"),
    (3, "a signature of another list", lambda m: flipped(m, len(m) - 1), "forged"),
    (4, "fewer key shares", lambda m: m[:-1], "malformed"),
    *[(phase, "no message", lambda m: b"x", "malformed") for phase in range(5)],
    *[(phase, "another session", lambda m: flipped(m, 5), "out_of_turn") for phase in range(5)],
    *[(phase, "another kind", lambda m: m[:1] + b"\x09" + m[2:] if m[1] != 9 else m[:1] + b"\1" + m[2:], "out_of_turn")
      for phase in range(5)],
    *[(phase, "another version", lambda m: b"\2" + m[1:], "malformed") for phase in range(5)],
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("phase", range(5))
def test_each_altered_answer_is_refused_by_name(it: LyingSite, phase: int) -> None:
    answer = it.until(phase)
    before = it.stored
    for of_phase, what, alter, why in ALTERED:
        if of_phase == phase:
            assert (what, it.send(answer._replace(message=alter(answer.message))).code) == (what, why)
    elsewhere = [answer._replace(cohort=99), answer._replace(attempt=2)]
    for each in elsewhere + [answer._replace(phase=later) for later in range(phase + 1, 5)]:
        assert it.send(each).status == 200, "nothing of it is due, and nothing comes of it"
    assert it.stored == before
    assert it.send(answer).status == 200
    after = it.stored
    if phase < 4 and len(after) == len(before) + 1:  # else all had answered, and the next phase or the release came
        assert it.send(answer._replace(message=flipped(answer.message, len(answer.message) - 1))).code == "conflict"
        assert it.send(answer).status == 200
        assert it.stored == after
    it.all.go_round()
    assert {each["arm"]: each["total"] for each in it.all.releases()} == it.sums


@pytest.mark.slow
def test_a_value_that_no_people_can_have_is_noticed_and_one_that_they_can_have_is_not(it: LyingSite) -> None:
    """As nobody sees into the part of a site."""
    answer = it.until(2)
    writer: Any = it.all.coordinator.host.held["small"]
    (offer,) = writer.study.protocol.offers(8)

    def shift(answer: RoundAnswer, by: int) -> RoundAnswer:
        value = (int.from_bytes(answer.message[-VALUE_SIZE:]) + by) % offer.modulus
        return answer._replace(message=answer.message[:-VALUE_SIZE] + value.to_bytes(VALUE_SIZE))

    (other,) = [each for each in it.all.sites[0].host.links["small"]._answers if each.cohort == 1]
    assert it.send(shift(answer, offer.modulus // 2)).status == 200
    assert it.send(shift(other, offer.steps)).status == 200
    it.all.sites[0].host.links["small"]._answers = []
    it.all.go_round()
    (released,) = it.all.releases()
    assert released["total"] == it.sums[released["arm"]] + 1
    entries = it.all.coordinator.ask("GET", "/v1/studies/small/ledger", None, "officer").json["entries"]
    assert '"kind":"discarded"' in entries[-1]["body"] + entries[-2]["body"]


@pytest.mark.slow
def test_wrong_key_shares_of_one_site_spoil_no_sum(it: LyingSite) -> None:
    answer = it.until(4)
    altered = answer.message[:HEAD] + bytes(len(answer.message) - HEAD)
    assert it.send(answer._replace(message=altered)).status == 200
    it.all.sites[0].host.links["small"]._answers = []
    it.all.go_round()
    found = {each["arm"]: each["total"] for each in it.all.releases()}
    assert found
    assert found.items() <= it.sums.items()


@pytest.mark.slow
def test_whoever_is_no_site_of_the_study_has_no_part_in_it(it: LyingSite) -> None:
    for key, status in ((None, 401), ("mb_site_00000000_x", 401), ("owner", 403), ("client", 403), ("officer", 403)):
        for path, body in (("/rounds", {"answers": []}), ("/assign", {"person": "a" * 64})):
            assert it.ask(path, body, key).status == status
    ticket = it.all.sites[1].assign("person 1")["ticket"]
    assert it.ask("/expose", {"ticket": ticket}).code == "forbidden"
    with closing(open_database(it.all.addresses[1])) as database:
        ((other,),) = database.rows("SELECT person FROM site_place WHERE ticket = ?", ticket)
    assert it.ask("/assign", {"person": other}).code == "forbidden"
    assert it.ask("/erase", {"person": other}).code == "forbidden"
    assert it.ask("/rounds", {"answers": [{"cohort": 0, "attempt": 1, "phase": 5, "message": ""}]}).status == 422
    assert (
        it.ask("/rounds", {"answers": [{"cohort": 0, "attempt": 1, "phase": 0, "message": "a" * 2**17}]}).status == 422
    )


# --- what a coordinator says of people and studies ------------------------------------------------------------------


def altering(alter: Callable[[Any], Any], path: str) -> Any:
    """A way to the coordinator on which its answers to requests of this path are altered."""
    real = CoordinatorWire.handle_async_request

    async def handle(self: CoordinatorWire, request: httpx.Request) -> httpx.Response:
        found = await real(self, request)
        said = httpx.Response(found.status_code, content=found.content).json()
        return httpx.Response(200, json=alter(said)) if request.url.path.endswith(path) else found

    return handle


@pytest.mark.sparing(1)
@pytest.mark.parametrize("lie", ["the place of another person", "another cohort"])
def test_a_lie_about_a_place(tmp_path: Path, lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sites = SitesInside(tmp_path)
    at, ann = sites.sites[0], sites.come(0, "ann", 1)
    told: dict[str, Any] = {"ticket": ann["ticket"]} if lie == "the place of another person" else {}
    cohort = 7 if lie == "another cohort" else None

    def alter(said: Any) -> Any:
        return {"assigned": said["assigned"] | told, "cohort": said["cohort"] if cohort is None else cohort}

    monkeypatch.setattr(CoordinatorWire, "handle_async_request", altering(alter, "/assign"))
    assert at.study("assign", {"unit": "ann" if cohort == 7 else "bob"}).code == "disagreement"
    sites.close()


LIES_ON_ENTERING: list[tuple[str, Callable[[Any], Any]]] = [
    ("other keys of a site", lambda said: said | {"sites": [said["sites"][1], *said["sites"][1:]]}),
    ("fewer sites", lambda said: said | {"sites": said["sites"][:2]}),
]


def test_a_lie_about_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To a site that enters; and one that has entered is told no other protocol."""
    sites = SitesInside(tmp_path)
    sites.add()
    assert sites.coordinator.ask("PUT", "/v1/studies/small/sites", {"list": sites.named}, "owner").status == 200
    for _, alter in LIES_ON_ENTERING:
        with monkeypatch.context() as patch:
            patch.setattr(CoordinatorWire, "handle_async_request", altering(alter, "/site"))
            with pytest.raises(Disagreement):
                sites.enter(3)
    sites.sites.append(sites.enter(3))

    def give_places(said: Any) -> Any:
        return said | {"protocol": said["protocol"].replace('"people":1000', '"people":2000')}

    monkeypatch.setattr(CoordinatorWire, "handle_async_request", altering(give_places, "/site"))
    with pytest.raises(InvalidValue, match="with which this site entered it"):
        asyncio.run(enter_study(sites.addresses[0], sites.folders[0], "small", sites.wires[0]))
    sites.close()
