"""Altered messages of devices that add up, and of their service: a named refusal, and nothing that is stored changes.

A million of them:

340,000 bodies of requests to the service, and
360,000 answers of it to a device, by what reads them
280,000 messages of rounds, read by the server of a round and by its clients, in the phase in which they are due
 30,000 phases that a device has answered, which it is asked again, otherwise
 20,000 whole requests to a service whose round goes on

Nothing is signed in these rounds, as no device vouches for another. So a server does not see into a message whose head
and length are right: what a round becomes in which one device sends such messages is looked at 2000 times.
"""

import json
from base64 import urlsafe_b64encode
from collections import Counter
from contextlib import closing
from fractions import Fraction
from functools import partial
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import pytest

from maskedbandit.device import adding_up
from maskedbandit.device.adding_up import answer_due, read_due_now
from maskedbandit.device.device_book import DeviceBook
from maskedbandit.device.own_place import read_place
from maskedbandit.device.service_calls import ServiceReply, read_object
from maskedbandit.device.shown_arms import read_answered_arm
from maskedbandit.errors import InvalidValue, Malformed, MaskedBanditError, ProtocolError
from maskedbandit.secagg.kept_round import AGREEING, MASKING, RoundDue, read_survivors
from maskedbandit.secagg.messages import Reader
from maskedbandit.secagg.round_rules import RoundRules
from maskedbandit.service.api.device_rounds import ROUTES
from maskedbandit.service.request.bodies import decode_base64
from maskedbandit.service.request.route import Call
from tests.altered_messages import count_messages, flip_bytes, mutate_body
from tests.device.round_scene import AGREED, N, RoundScene, make_adding_place
from tests.service.adding_devices import WINDOW, AddingDevices
from tests.service.conftest import ROUND_REFUSALS
from tests.service.inside import Inside
from tests.service.test_sites_fuzz import SEED, PlayedRound, alter_sent, dump, overwrite_answer

pytestmark = pytest.mark.slow
USERS, CORRUPTED = 6, Fraction(1, 6)
PLAN = RoundRules(CORRUPTED, smallest=2).plan(USERS, 3, 2**20, b"fuzzed", sha256(SEED).digest())
PHASES = 4

# --- bodies ---------------------------------------------------------------------------------------------------------

TICKET, MESSAGE = "k3" * 16, urlsafe_b64encode(bytes(range(90))).decode()
ANSWERED = {"cohort": 3, "attempt": 1, "phase": 2, "message": MESSAGE}
DUE = {"cohort": 3, "attempt": 1, "n": N, "ring": "5c" * 32, "phase": 0, "message": MESSAGE}


def test_altered_bodies_are_read_or_refused(service: Inside) -> None:
    (route,) = ROUTES
    random, found = Random(1), Counter[str]()
    sound = [json.dumps({"ticket": TICKET, "answers": each}).encode() for each in ([], [ANSWERED])]
    for _ in count_messages(340_000):
        call = Call(service.host, service.scope("POST", "/", None, ()) | {"path_params": {}}, None, None)
        call.raw = mutate_body(random, random.choice(sound))
        try:
            read = route.decoded(call)
            messages = [decode_base64("message", each.message) for each in read.answers]
        except (InvalidValue, Malformed) as why:
            found[why.code] += 1
            continue
        assert type(read) is route.body
        assert len(messages) <= 1
        assert all(each.cohort >= 0 and 0 <= each.phase <= PHASES for each in read.answers)
        found["read"] += 1
    assert {"read", "invalid_value"} <= found.keys() <= {"read", "invalid_value", "malformed"}
    assert found.total() - found["read"] > found["read"] / 4


def test_altered_answers_are_read_or_refused() -> None:
    """What is due, and the place of a person: whoever reads them says which, or has nothing."""
    random, found = Random(2), Counter[str]()
    place = make_adding_place(0)
    assigned = {key: place[key] for key in ("study", "arm", "ticket")} | {"payload": None, "device": place}
    sound = {"due": {"due": DUE, "over": False}, "place": assigned}
    for _ in count_messages(360_000):
        what = random.choice(list(sound))
        reply = ServiceReply(200, read_object(mutate_body(random, json.dumps(sound[what]).encode())))
        if what == "due":
            due = read_due_now(reply.body.get("due"))
            assert due is None or all(0 <= each < 2**62 for each in (*due.terms[:3], due.phase))
            found["due" if due else "nothing due"] += 1
            continue
        try:
            handed = read_answered_arm(reply, "kiosks").place
            if handed is None:
                found["no place"] += 1
            elif AGREED.check(read_place(handed), Fraction(0)) <= AGREED.epsilon:
                found["place"] += 1
        except MaskedBanditError as why:
            found[why.code] += 1
    assert found.keys() >= {"due", "nothing due", "place", "no place", "unreachable", "invalid_value"}, found


# --- messages of rounds ---------------------------------------------------------------------------------------------


def test_altered_messages_of_a_round_are_refused() -> None:
    """By the server, wherever it can see it; a client answers no list of devices that is too short, or not its own."""
    played, random, refused, phase = PlayedRound(PLAN), Random(3), Counter[str](), 0
    while played.server.phase:
        told = played.tell()
        for _ in count_messages(20_000):
            user = random.choice(list(told))
            message = flip_bytes(random, told[user]) if told[user] else random.randbytes(40)
            try:
                played.clone(user).receive(message)
            except ProtocolError as why:
                refused[why.code] += 1
                continue
            assert phase in (MASKING, AGREEING), "a client takes other keys than it was told"
            if phase == AGREEING:
                here = read_survivors(message, PLAN.users)
                assert user in here
                assert len(here) >= PLAN.least
        sent = {user: played.clients[user].receive(message) for user, message in told.items()}
        for _ in count_messages(50_000):
            user = random.choice(list(sent))
            with pytest.raises(ProtocolError) as refusal:
                played.server.receive(user, alter_sent(random, sent[user], sees=False))
            refused[refusal.value.code] += 1
        for user, message in sent.items():
            played.server.receive(user, message)
        played.server.close()
        phase += 1
    assert (phase, played.server.total) == (PHASES, 7 * USERS)
    assert refused.keys() == ROUND_REFUSALS - {"forged"}


def test_a_device_that_sends_something_else_harms_itself_or_the_sum() -> None:
    """The round ends with a sum, of which all but that device are part, or by a named refusal."""
    random, found = Random(4), Counter[str]()
    for _ in count_messages(2000):
        played, liar, lie = PlayedRound(PLAN), random.randrange(USERS), random.randrange(PHASES)
        try:
            play_with(played, random, liar, lie)
        except ProtocolError as why:
            found[why.code] += 1
            continue
        assert played.server.survivors >= set(PLAN.users) - {liar}
        right = played.server.total == 7 * len(played.server.survivors)
        assert right or lie == MASKING, "a sum is another one, although no masked value was altered"
        found["a sum" if right else "another sum"] += 1
    assert found.keys() >= {"a sum", "another sum"}
    print(found)


def play_with(played: PlayedRound, random: Random, liar: int, lie: int) -> None:
    """A round in which one client sends other bytes in one phase, where the server cannot see it."""
    for phase in range(PHASES):
        for user, told in played.tell().items():
            try:
                message = played.clients[user].receive(told)
            except ProtocolError:
                assert user == liar, "a client leaves because another one lies"
                continue
            if (user, phase) == (liar, lie):
                at = random.randrange(34, len(message))
                message = message[:at] + bytes([message[at] ^ 1 << random.randrange(8)]) + message[at + 1 :]
            try:
                played.server.receive(user, message)
            except ProtocolError:
                assert (user, phase) == (liar, lie)
        played.server.close()


# --- what a device has answered -------------------------------------------------------------------------------------


def test_a_device_that_has_answered_says_nothing_else(tmp_path: Path) -> None:
    """Whatever it is asked, of an attempt that it joined or of others: the same, or nothing; and it keeps the same."""
    scene, random, answers = RoundScene(tmp_path), Random(5), dict[RoundDue, bytes]()
    for phase in range(1, PHASES + 1):
        due = scene.due(1)
        scene.go_on(until=phase)
        answers[due] = scene.devices[1].answer(due)
    book = DeviceBook(scene.devices[1].folder)
    before, said = dump_book(book), Counter[str]()
    for _ in count_messages(30_000):
        due = random.choice(list(answers))
        changed = alter_due(random, due)
        found = book.change_place("kiosks", partial(answer_due, due=changed, now=2_000_000))
        assert found == b"" or (changed == due and found == answers[due])
        said["the same" if found else "nothing"] += 1
    assert dump_book(book) == before
    assert said["nothing"] > 9 * said["the same"] > 0
    book.close()


def alter_due(random: Random, due: RoundDue) -> RoundDue:
    """The same with something else, or as it was."""
    kind = random.randrange(20)
    if kind == 0:
        return due
    if kind < 12:
        return due._replace(message=flip_bytes(random, due.message) if due.message else random.randbytes(40))
    if kind < 16:
        return due._replace(terms=due.terms._replace(ring=flip_bytes(random, due.terms.ring)))
    name = random.choice(("cohort", "attempt", "n"))
    return due._replace(terms=due.terms._replace(**{name: random.randrange(3, 2**62)}))


def dump_book(book: DeviceBook) -> bytes:
    """All that a device keeps of rounds."""
    tables = ("own_place", "own_round", "round_step", "kept_report")
    return sha256(repr([book._file.rows(f"SELECT * FROM {each}") for each in tables]).encode()).digest()


# --- whole requests -------------------------------------------------------------------------------------------------


def test_altered_requests_to_a_service(tmp_path: Path, logged: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices that have answered send other answers; then the round goes on to its sum."""
    monkeypatch.setattr(adding_up, "draw_noise_share", lambda noise, bits: 0)
    with closing(AddingDevices(tmp_path)) as scene:
        fuzz_service(scene)


def fuzz_service(scene: AddingDevices) -> None:
    """The same."""
    bodies, random, found = list[bytes](), Random(6), Counter[int]()
    real = scene.service.asked

    async def listen(method: str, path: str, body: Any = None, *given: Any) -> Any:
        if path.endswith("/round") and b'"message"' in body:
            bodies.append(body)
        return await real(method, path, body, *given)

    scene.service.asked = listen
    scene.fill()
    scene.service.tick(WINDOW + 1)
    scene.contact(2)
    assert len(bodies) > len(scene.devices)
    before, sound = dump(scene.service.address), list(bodies)

    async def ask() -> None:
        for _ in count_messages(20_000):
            body = mutate_body(random, random.choice(sound))
            found[(await real("POST", "/v1/studies/small/round", body, None)).status] += 1

    scene.service.run(ask())
    assert found.keys() <= {200, 404, 409, 413, 422}, found
    assert found[409] > found.total() / 50
    assert dump(scene.service.address) == before
    scene.contact(4)
    assert {each["arm"]: each["total"] for each in scene.read_releases()} == scene.sums
    scene.verify()


def test_parties_that_look_at_less_are_noticed(
    tmp_path: Path, logged: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken twins: a server that reads messages of any length, and a service with which the last answer stands."""
    with monkeypatch.context() as patch:
        patch.setattr(Reader, "end", lambda self: None)
        with pytest.raises(BaseException, match="DID NOT RAISE"):
            test_altered_messages_of_a_round_are_refused()
    monkeypatch.setattr("maskedbandit.store.rounds.take_answer", overwrite_answer)
    with pytest.raises(AssertionError):
        test_altered_requests_to_a_service(tmp_path, logged, monkeypatch)
