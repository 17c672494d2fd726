"""Altered messages of sites and of their coordinator: none has a fault, changes what is stored, or is seen in a log.

A million of them, all of which take one core about a minute:

520,000 bodies of requests to a coordinator, and of what it answers to a site, by what reads them
400,000 messages of rounds, read by the server of a round and by its clients, in the phase in which they are due
 50,000 whole requests to a coordinator whose round goes on
 30,000 whole answers of a coordinator to a site that has answered before
"""

import json
from base64 import urlsafe_b64encode
from collections import Counter
from contextlib import closing
from copy import copy
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import httpx
import msgspec
import pytest

from maskedbandit.errors import InvalidValue, Malformed, MaskedBanditError, ProtocolError
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg.client import RoundClient
from maskedbandit.secagg.masks import KEY
from maskedbandit.secagg.plan import RoundPlan
from maskedbandit.secagg.server import RoundServer
from maskedbandit.service.api.sites import ROUTES
from maskedbandit.service.host.partner_calls import PartnerAway, PartnerCalls, PartnerRefuses
from maskedbandit.service.host.site_link import SiteLink, read_due, read_newest
from maskedbandit.service.request.route import Call
from maskedbandit.service.site_messages import AnswerRounds
from maskedbandit.service.sites.people import read_place
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.rounds import take_answer
from tests.altered_messages import SHARE, count_messages, flip_bytes, mutate_body
from tests.secagg.adversary import identities_of, signer
from tests.service.conftest import ROUND_REFUSALS
from tests.service.inside import Inside
from tests.service.sites_inside import SitesInside
from tests.service.test_lying_sites import LyingSite

pytestmark = pytest.mark.slow
TABLES = (
    "round",
    "round_message",
    "place",
    "entry",
    "release",
    "site_place",
    "site_report",
    "site_round",
    "site_message",
)


def dump(address: str) -> bytes:
    """All that is stored of people and rounds, as a digest."""
    with closing(open_database(address)) as database:
        return sha256(
            repr([sorted(map(repr, database.rows(f"SELECT * FROM {each}"))) for each in TABLES]).encode()
        ).digest()


# --- bodies ---------------------------------------------------------------------------------------------------------

TICKET, MESSAGE = "k3" * 16, urlsafe_b64encode(bytes(range(90))).decode()
ANSWERED = {"cohort": 3, "attempt": 1, "phase": 2, "message": MESSAGE}
BODIES: dict[str, Any] = {
    "AssignAtSite": {"person": "4e" * 32, "evaluated": False, "attributes": {"age": 18, "beta": True}},
    "ExposeAtSite": {"ticket": TICKET},
    "EraseAtSite": {"person": "4e" * 32},
    "ChangeSites": {"list": [{"name": "North", "key": "6a" * 32, "share": "1/2"}]},
    "AnswerRounds": {"answers": [ANSWERED, ANSWERED | {"cohort": 4}], "confirmed": "7b" * 32, "signed": "8c" * 64},
    "Pair": {"token": "x" * 43, "name": "North", "seals": "3d" * 32, "signs": "4e" * 32, "signature": "5f" * 64},
}
TOLD = {"cohort": 3, "attempt": 1, "n": 8, "weights": [2, 3, 3], "ring": "5c" * 32, "phase": 0, "message": MESSAGE}
PLACE = {
    "assigned": {"study": "small", "arm": "a", "payload": None, "ticket": TICKET, "propensity": "1/2", "again": False},
    "cohort": 3,
}


def test_altered_bodies_are_read_or_refused(service: Inside) -> None:
    random, read, refused = Random(1), Counter[str](), Counter[str]()
    routes = [each for each in ROUTES if each.body is not None]
    assert {each.body.__name__ for each in routes} == BODIES.keys()
    sound = {name: json.dumps(body).encode() for name, body in BODIES.items()}
    for _ in count_messages(320_000):
        route = random.choice(routes)
        call = Call(service.host, service.scope("POST", "/", None, ()) | {"path_params": {}}, None, None)
        call.raw = mutate_body(random, sound[route.body.__name__])
        try:
            found = route.decoded(call)
        except (InvalidValue, Malformed) as why:
            refused[why.code] += 1
            continue
        assert type(found) is route.body
        read[route.body.__name__] += 1
        if isinstance(found, AnswerRounds):
            assert all(0 <= each.cohort < 2**62 and 0 <= each.phase < 5 for each in found.answers)
    assert read.keys() == BODIES.keys()
    assert refused.total() > read.total() / 4


def test_altered_answers_of_a_coordinator_are_read_or_refused() -> None:
    random, read = Random(2), Counter[str]()
    due = {"state": "running", "due": [TOLD | {"tickets": [TICKET]}], "sites": "7b" * 32, "first": 2}
    sound = {"due": json.dumps(due), "place": json.dumps(PLACE)}
    for _ in count_messages(200_000):
        what = random.choice(list(sound))
        try:
            said = msgspec.json.decode(mutate_body(random, sound[what].encode()))
        except (ValueError, RecursionError):
            read["no JSON"] += 1
            continue
        if not isinstance(said, dict):
            continue  # which PartnerCalls takes for no answer
        try:
            if what == "due":
                for told in read_due(said):
                    assert all(type(each) is int for each in (*told.terms[:3], *told.terms.weights, told.phase))
                    assert (type(told.message), {type(each) for each in told.invited} <= {str}) == (bytes, True)
                assert [type(each) for each in read_newest(said)] == [str, int]
            else:
                read_place(said)
            read[what] += 1
        except MaskedBanditError as why:
            read[why.code] += 1
    assert {"due", "place", "malformed"} <= read.keys()


# --- messages of rounds ---------------------------------------------------------------------------------------------


class PlayedRound:
    """A round, step by step."""

    def __init__(self, plan: RoundPlan) -> None:
        self.plan, who = plan, identities_of(plan.users)
        self.clients = {
            user: RoundClient(self.plan, user, 7, Bits(Random(user).randbytes), signer(user), who)
            for user in self.plan.users
        }
        self.server = RoundServer(self.plan, SEED, who)

    def tell(self) -> dict[int, bytes]:
        """What each client is told now."""
        return {user: self.server.message_for(user) for user in sorted(self.server.waiting)}

    def clone(self, user: int) -> RoundClient:
        """A client as it is now."""
        kept = self.clients[user]
        made = copy(kept)
        made._next = getattr(made, kept._next.__name__)
        if hasattr(kept, "_around"):
            made._around = {other: copy(each) for other, each in kept._around.items()}
        return made


SEED = bytes(range(KEY))  # of the ring
ALL_OF_FOUR = RoundPlan(  # sites
    *(b"fuzzed", (0, 1, 2, 3), 3, 3, 4, 2**20, True, sha256(SEED).digest(), (5, 20, 40, 35), 60, 1)
)
CANNOT_SEE = (1, 2, 4)  # phases in which a server cannot see into a message whose head and length are right


def alter_sent(random: Random, message: bytes, sees: bool) -> bytes:
    """Another message of a client, which the server can tell from a sound one, whether or not it sees into it."""
    while True:
        found = flip_bytes(random, message)
        if sees or len(found) != len(message) or found[: 2 + KEY] != message[: 2 + KEY]:
            return found


def test_altered_messages_of_a_round_are_refused() -> None:
    """By server and clients, in each phase; afterwards the round has its sum."""
    played, random, refused, phase = PlayedRound(ALL_OF_FOUR), Random(3), Counter[str](), 0
    while played.server.phase:
        told = played.tell()
        for _ in count_messages(40_000):
            user = random.choice(list(told))
            client, message = played.clone(user), flip_bytes(random, told[user]) if told[user] else random.randbytes(40)
            with pytest.raises(ProtocolError) as why:
                client.receive(message)
            refused[why.value.code] += 1
        sent = {user: played.clients[user].receive(message) for user, message in told.items()}
        for _ in count_messages(40_000):
            user = random.choice(list(sent))
            with pytest.raises(ProtocolError) as why:
                played.server.receive(user, alter_sent(random, sent[user], phase not in CANNOT_SEE))
            refused[why.value.code] += 1
        for user, message in sent.items():
            played.server.receive(user, message)
        played.server.close()
        phase += 1
    assert (phase, played.server.total) == (5, 28)
    assert refused.keys() == ROUND_REFUSALS


# --- whole requests -------------------------------------------------------------------------------------------------


def test_altered_requests_to_a_coordinator(tmp_path: Path, logged: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A site that has answered sends other answers; then the round goes on to its sum."""
    monkeypatch.setattr("maskedbandit.noises.discrete_laplace.DiscreteLaplace.sum_of_shares", lambda *given: 0)
    it = LyingSite(tmp_path)
    with closing(it.all):
        fuzz_coordinator(it)


def fuzz_coordinator(it: LyingSite) -> None:
    """The same, for a site that lies."""
    random, found = Random(4), Counter[int]()
    answers = [it.until(0), *(each for each in it.all.sites[0].host.links["small"]._answers if each.cohort == 1)]
    bodies = []
    for each in answers:
        given = {"cohort": each.cohort, "attempt": 1, "phase": 0, "message": urlsafe_b64encode(each.message).decode()}
        bodies.append(json.dumps({"answers": [given]}).encode())
        assert it.send(each).status == 200
    before = dump(it.all.coordinator.address)

    async def ask() -> None:
        for _ in count_messages(50_000):
            key = it.credential if random.random() < 0.95 else None
            body = mutate_body(random, random.choice(bodies))
            found[(await it.all.coordinator.asked("POST", "/v1/studies/small/site/rounds", body, key)).status] += 1

    it.all.coordinator.run(ask())
    assert found.keys() <= {200, 401, 409, 413, 422}, found
    assert found[409] > 100 * SHARE
    assert dump(it.all.coordinator.address) == before
    it.all.go_round()
    assert {each["arm"]: each["total"] for each in it.all.releases()} == it.sums


class FuzzingCoordinator(httpx.AsyncBaseTransport):
    """Answers each request with a sound answer that was altered."""

    def __init__(self, sound: list[bytes]) -> None:
        self.sound, self.random = sound, Random(5)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """What the coordinator says."""
        status = self.random.choice((200, 200, 200, 200, 200, 200, 200, 409, 503))
        return httpx.Response(status, content=mutate_body(self.random, self.random.choice(self.sound)))


def test_altered_answers_to_a_site(tmp_path: Path, logged: list[Any]) -> None:
    """The site has answered what was due; whatever else it is told, it says and stores nothing new."""
    sites, found = SitesInside(tmp_path), Counter[str]()
    sites.fill()
    sites.clock.now += 21_000
    sites.go_round(rounds=3)
    at, link = sites.sites[0], sites.sites[0].host.links["small"]
    sound = [each.answered for each in sites.passed if each.site == "site0" and b'"due":[{' in each.answered]
    archived = b'{"state": "archived", "due": []}'
    assert sound
    assert archived not in sound
    before = dump(at.address)

    async def exchange() -> None:
        calls = PartnerCalls("http://coordinator", "", FuzzingCoordinator(sound), "coordinator")
        fuzzed = SiteLink(link.writer, lambda body: calls.ask("POST", "/", body), lambda: 0)
        for _ in count_messages(30_000):
            try:
                await fuzzed._exchange(0)
                found["read"] += 1
                found["answered"] += any(each.message for each in fuzzed._answers)
            except (PartnerAway, PartnerRefuses, Malformed) as why:
                found[why.code] += 1
        await calls.close()

    at.run(exchange())
    assert found["answered"] > 100 * SHARE, found
    assert found["partner_away"] > 100 * SHARE
    assert dump(at.address) == before
    sites.close()


def overwrite_answer(session: Any, party: int, given: Any) -> None:
    """A broken twin of `take_answer`: the last answer stands."""
    keep = "UPDATE round_message SET message = ? WHERE cohort = ? AND party = ?"
    if not session.database.change(keep, given.message.hex(), given.cohort, party):
        take_answer(session, party, given)


def test_parties_that_look_at_less_are_noticed(
    tmp_path: Path, logged: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken twins: one that believes every signature, and a coordinator with which the last answer stands."""
    with monkeypatch.context() as patch:
        patch.setattr("maskedbandit.secagg.server.verify_signature", lambda *given: None)
        with pytest.raises(BaseException, match="DID NOT RAISE"):
            test_altered_messages_of_a_round_are_refused()

    monkeypatch.setattr("maskedbandit.store.rounds.take_answer", overwrite_answer)
    with pytest.raises(AssertionError):
        test_altered_requests_to_a_coordinator(tmp_path, logged, monkeypatch)
