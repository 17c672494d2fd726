"""More than a million altered messages of devices, a shuffler and a service: each is refused by name, and none counts.

560,000 bodies of requests to a shuffler, and for passes, by what reads them
100,000 envelopes, opened by the shuffler, or as those of another place
 40,000 passes and requests to mix, with what they are of
 70,000 statements of a shuffler, read and held against what the service asked for
230,000 pages of messages, and lists of them
 60,000 operations of a shuffler in whose database all is stored that is due
  5,000 whole answers of a shuffler to a service that goes on
 81,000 whole requests to a shuffler that goes on
"""

import asyncio
import json
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import httpx
import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from maskedbandit.errors import InvalidValue, Malformed, ProtocolError
from maskedbandit.service.api.uploads import ROUTES as OF_DEVICES
from maskedbandit.service.helping.messages import HelpStudy, Pair
from maskedbandit.service.host.mix_link import read_page
from maskedbandit.service.host.partner_calls import PartnerAway, PartnerCalls, PartnerRefuses
from maskedbandit.service.messages import AskPass, LeaveStudy
from maskedbandit.service.request.bodies import decode_base64
from maskedbandit.service.request.route import Call
from maskedbandit.service.shuffling import list_shuffler_routes
from maskedbandit.service.shuffling.bundles import SendBundle, ShowPass
from maskedbandit.service.shuffling.mixes import AskMix
from maskedbandit.shuffle.envelopes import BundleTerms, open_envelope, seal_envelope
from maskedbandit.store.book.mixes import match_mix
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.helping.study import register_study
from maskedbandit.store.mixes import MixRequest, open_mix
from maskedbandit.store.own_keys import read_seal_key
from maskedbandit.store.shuffling.study import ShufflerStudy
from maskedbandit.study.mix_statement import MixStatement, check_mix, check_pass, digest_people, sign_mix, sign_pass
from tests.altered_messages import SHARE, count_messages, flip_bytes, mutate_body
from tests.service.inside import Inside
from tests.service.shuffler_inside import GRACE, ShuffledStudy, shuffled_study
from tests.service.test_shuffler_lies import ask_mix, write_bundle
from tests.store.helper_scene import N
from tests.store.test_shuffling_crash import Mixing

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
        yield method, path, mutate_body(random, whole), key


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
def test_nothing_of_much_that_is_sent_stops_a_shuffler(tmp_path: Path) -> None:
    with shuffled_study(tmp_path) as study:
        study.come_all([1, 0] * 4)
        fuzz(study, len(count_messages(80_000)), 2)


def dump(address: str) -> bytes:
    """All that is stored, as a digest; but when somebody last asked."""
    with closing(open_database(address)) as database:
        tables = sorted(database.tables() - {"sqlite_stat1", "study", "api_key"})
        rows = [sorted(map(repr, database.rows(f"SELECT * FROM {each}"))) for each in tables]
        return sha256(repr((rows, database.rows("SELECT study, state, protocol FROM study"))).encode()).digest()


# --- bodies ---------------------------------------------------------------------------------------------------------

PASS = {"cohort": 3, "n": 4, "place": 1, "who": "0a" * 8, "offer": "1b" * 32, "shown": "2c" * 64}
SEALED = urlsafe_b64encode(bytes(range(200))).decode()
BODIES: dict[type, Any] = {
    SendBundle: PASS | {"sealed": SEALED},
    ShowPass: PASS,
    AskMix: {"n": 4, "people": urlsafe_b64encode(bytes(32)).decode(), "signature": "2c" * 64},
    Pair: {"token": "x" * 43, "name": "Clinic", "seals": "3d" * 32, "signs": "4e" * 32, "signature": "5f" * 64},
    HelpStudy: {"protocol": '{"name": "small"}'},
    AskPass: {"ticket": "k3" * 16},
    LeaveStudy: {"ticket": "k3" * 16},
}
OF_TEXTS = {SendBundle: "sealed", AskMix: "people"}  # what of a body is base64


@pytest.mark.slow
def test_altered_bodies_are_read_or_refused(service: Inside) -> None:
    """What is let pass has the type of its route."""
    random, read, refused = Random(1), Counter[str](), Counter[str]()
    routes = [each for each in (*list_shuffler_routes(), *OF_DEVICES) if each.body in BODIES]
    assert {each.body for each in routes} == BODIES.keys()
    sound = {kind: json.dumps(body).encode() for kind, body in BODIES.items()}
    for i in count_messages(560_000):
        route = next(each for each in routes if each.body is SendBundle) if i % 2 else random.choice(routes)
        call = Call(service.host, service.scope("POST", "/", None, ()) | {"path_params": {}}, None, None)
        call.raw = mutate_body(random, sound[route.body])
        try:
            found = route.decoded(call)
            if route.body in OF_TEXTS:
                decode_base64("it", getattr(found, OF_TEXTS[route.body]))
        except (InvalidValue, Malformed) as why:
            refused[why.code] += 1
        else:
            assert type(found) is route.body
            read[route.body.__name__] += 1
    assert read.keys() == {each.__name__ for each in BODIES}
    assert refused.total() > read.total() / 4


# --- what is encrypted, and what is signed ----------------------------------------------------------------------------


class Keys:
    """Keys of a service and a shuffler, and an envelope of a device."""

    def __init__(self) -> None:
        self.random = Random(2)
        sealing = [X25519PrivateKey.from_private_bytes(self.random.randbytes(32)) for _ in range(2)]
        self.service, self.shuffler = sealing
        self.signs = Ed25519PrivateKey.from_private_bytes(self.random.randbytes(32))
        self.public = self.signs.public_key().public_bytes_raw()
        self.terms = BundleTerms(bytes(32), 3, bytes(31) + b"\1", 7, bytes(7) + b"\2")
        self.sealed = seal_envelope(
            [1, 0, 1], 2, self.terms, *(each.public_key().public_bytes_raw() for each in sealing)
        )

    def alter_terms(self) -> BundleTerms:
        """What it is of, with something that is another."""
        name = self.random.choice(("study", "offer", "cohort", "place", "who"))
        sizes = {"study": 32, "offer": 32, "who": 8}
        other = self.random.randbytes(sizes[name]) if name in sizes else self.random.randrange(8, 2**40)
        return replace(self.terms, **{name: other})


@pytest.mark.slow
def test_altered_envelopes_are_not_opened() -> None:
    keys, refused = Keys(), Counter[str]()
    assert len(open_envelope(keys.sealed, 3, 2, keys.terms, keys.shuffler)) == 3
    for _ in count_messages(100_000):
        terms, sealed = keys.terms, keys.sealed
        if keys.random.random() < 0.3:
            terms = keys.alter_terms()
        else:
            sealed = flip_bytes(keys.random, sealed)
        with pytest.raises(ProtocolError) as why:
            open_envelope(sealed, 3, 2, terms, keys.shuffler)
        refused[why.value.code] += 1
    assert refused.keys() == {"forged", "malformed"}


@pytest.mark.slow
def test_altered_passes_and_requests_are_forged() -> None:
    keys, people = Keys(), bytes(range(32))
    shown, asked = sign_pass(keys.signs, keys.terms), sign_mix(keys.signs, keys.terms.of_cohort, digest_people(people))
    check_pass(keys.public, keys.terms, shown)
    check_mix(keys.public, keys.terms.of_cohort, digest_people(people), asked)
    for _ in count_messages(20_000):
        what = keys.random.randrange(4)
        given = (
            flip_bytes(keys.random, shown.encode()).decode("latin-1") if what == 0 else asked if what == 1 else shown
        )
        with pytest.raises(ProtocolError) as why:
            check_pass(keys.public, keys.alter_terms() if what > 1 else keys.terms, given)
        assert why.value.code == "forged"
        cohort, named, given = keys.terms.of_cohort, people, asked
        if what == 0:
            cohort = flip_bytes(keys.random, cohort)
        elif what == 1:
            named = flip_bytes(keys.random, people)
        else:
            given = shown if what == 2 else flip_bytes(keys.random, asked.encode()).decode("latin-1")
        with pytest.raises(ProtocolError) as why:
            check_mix(keys.public, cohort, digest_people(named), given)
        assert why.value.code == "forged"


class OneMix:
    """What a shuffler says of a cohort that it mixed, as it is, and the service that asked for it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.scene = Mixing(folder, f"sqlite:///{folder}/shuffler.db")
        self.sent = self.scene.seal_all()
        self.protocol = self.scene.protocol
        with closing(open_database(self.scene.address)) as database:
            given = self.scene.witness, self.protocol.text, self.scene.leader.fingerprint
            register_study(database, *given, shuffles=True)
        self.study = self.open()
        for each in self.study.apply([("take_bundle", *each) for each in self.sent]):
            assert each.refusal is None
        people = bytes(8 * N)
        of_cohort = self.scene.bind(0, 0).of_cohort
        signature = sign_mix(self.scene.lead.signing_key(), of_cohort, digest_people(people))
        self.asked = MixRequest(0, N, people, signature)

    def open(self) -> ShufflerStudy:
        """The shuffler's part."""
        database = open_database(self.scene.address)
        return ShufflerStudy(database, self.scene.witness, "small", self.scene.clock, "tester")

    def mix(self) -> tuple[MixStatement, list[bytes]]:
        """What it states, and the messages."""
        said = self.study.apply([("mix_cohort", *self.asked)])[0].value()
        return said, self.study.apply([("read_messages", 0, 0)])[0].value()

    def match(self, said: MixStatement) -> None:
        """Whether the service takes a statement for one of the cohort that it asked for."""
        match_mix(self.protocol, self.asked.cohort, self.asked.n, said, self.scene.helper.signs)


@pytest.fixture
def mixed(tmp_path: Path) -> Iterator[OneMix]:
    made = OneMix(tmp_path / "mixed")
    yield made
    made.study.close()


@pytest.mark.slow
def test_altered_statements_are_not_believed(mixed: OneMix) -> None:
    """What is read, signed and of this cohort says what was signed; of what a liar signs no other cohort is taken."""
    random, refused = Random(4), Counter[str]()
    said, _ = mixed.mix()
    mixed.match(said)
    text = said.to_text().encode()
    for _ in count_messages(60_000):
        try:
            found = MixStatement.from_text(mutate_body(random, text).decode("utf-8", "surrogateescape"))
            mixed.match(found)
        except ProtocolError as why:
            refused[why.code] += 1
        else:
            assert found == said
    assert refused.total() > 40_000 * SHARE
    key, channel = mixed.scene.witness.signing_key(), mixed.protocol.channel
    for _ in count_messages(10_000):
        name = random.choice([each for each in said.to_table() if each != "signature"])
        value: Any = getattr(said, name)
        other = random.choice((value + 1, value - 1, 2**62)) if isinstance(value, int) else f"{value}0"
        try:
            lie = replace(said, **{name: other}).sign(key)
            mixed.match(lie)
        except ProtocolError as why:
            refused[why.code] += 1
            continue
        assert name in ("entry", "digest", "reports", "messages"), name  # the digest is held against the messages
        least, most = channel.bundle_sizes(lie.reports, N)
        assert least <= lie.messages <= most
        assert channel.hides(lie.messages, lie.reports, N)
    assert refused.keys() == {"malformed", "forged", "disagreement"}


@pytest.mark.slow
def test_altered_messages_are_in_no_release(mixed: OneMix) -> None:
    """Pages that cannot be read are refused, and so are lists that are not what was signed."""
    random, found, private = Random(5), Counter[str](), read_seal_key(mixed.scene.lead)
    said, messages = mixed.mix()
    page = {"width": len(messages[0]), "messages": urlsafe_b64encode(b"".join(messages)).decode()}
    assert read_page(page) == messages
    sound = json.dumps(page).encode()
    for _ in count_messages(200_000):
        try:
            given = msgspec.json.decode(mutate_body(random, sound))
            if isinstance(given, dict):  # PartnerCalls takes nothing else for an answer
                assert len({len(each) for each in read_page(given)}) == 1
                found["read"] += 1
        except Malformed as why:
            found[why.code] += 1
        except (ValueError, RecursionError):
            found["no JSON"] += 1
    assert {"read", "malformed", "no JSON"} <= found.keys()
    for _ in count_messages(30_000):
        with pytest.raises(ProtocolError) as refused:
            open_mix(mixed.protocol, mixed.asked, said, alter_list(random, messages), private)
        assert refused.value.code == "disagreement"


def alter_list(random: Random, messages: list[bytes]) -> list[bytes]:
    """The same messages in another order, or with one that is another, or one more, or one less, or one twice."""
    found, at, kind = [*messages], random.randrange(len(messages)), random.randrange(5)
    if kind == 0:
        found[at], found[at - 1] = found[at - 1], found[at]
    elif kind == 1:
        found[at] = flip_bytes(random, found[at])
    elif kind == 2:
        found.insert(at, random.randbytes(len(found[0])))
    elif kind == 3:
        del found[at]
    else:
        found[at] = found[at - 1]
    return found


# --- what is stored -------------------------------------------------------------------------------------------------


def alter_operation(random: Random, mixed: OneMix) -> tuple[Any, ...]:
    """An operation with something that is another one, so that it is to be refused."""
    cohort, n, place, who, offer, shown, sealed = random.choice(mixed.sent)
    other = flip_bytes(random, shown.encode()).decode("latin-1")
    kind = random.randrange(7)
    if kind == 0:
        return "take_bundle", cohort, n, place, who, offer, shown, flip_bytes(random, sealed)
    if kind == 1:
        return "take_bundle", cohort, n, place, who, offer, other, sealed
    if kind == 2:
        changed = random.choice(((cohort + 1, n, place), (cohort, n + 1, place), (cohort, n, (place + 1) % n)))
        return "take_bundle", *changed, who, offer, shown, sealed
    if kind == 3:
        return "drop_bundle", cohort, n, place, random.choice((who, random.randbytes(8))), offer, other
    if kind == 4:
        return "take_bundle", cohort, n, place, who, random.randbytes(32), shown, sealed
    asked = mixed.asked
    if kind == 5:
        return "mix_cohort", asked.cohort, asked.n, flip_bytes(random, asked.people), asked.signature
    return (
        "mix_cohort",
        asked.cohort,
        asked.n,
        asked.people,
        flip_bytes(random, asked.signature.encode()).decode("latin-1"),
    )


@pytest.mark.slow
def test_what_is_refused_changes_nothing(mixed: OneMix) -> None:
    """Before the mix and after it; what is mixed in between has all reports."""
    random, refused = Random(6), Counter[str]()

    def send_all() -> None:
        before = dump(mixed.scene.address)
        for _ in count_messages(30_000 // TOGETHER):
            for each in mixed.study.apply([alter_operation(random, mixed) for _ in range(TOGETHER)]):
                assert each.refusal is not None
                refused[each.refusal.code] += 1
        assert dump(mixed.scene.address) == before

    send_all()
    assert refused.keys() == {
        "forged",
        "disagreement",
        "conflict",
    }  # an envelope that was altered is another report of its place
    assert mixed.mix()[0].reports == 3
    send_all()
    assert refused.keys() == {"forged", "disagreement", "conflict", "late"}


# --- whole answers --------------------------------------------------------------------------------------------------


class FuzzingShuffler(httpx.AsyncBaseTransport):
    """Answers each request with something like a sound answer; the messages are never those that were mixed."""

    def __init__(self, stated: bytes, page: Callable[[], bytes]) -> None:
        self.stated, self.page, self.random = stated, page, Random(7)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """What the shuffler says."""
        status = self.random.choice((200, 200, 200, 200, 200, 200, 200, 409, 503))
        if request.method == "POST":
            body = mutate_body(self.random, self.stated) if self.random.random() < 0.5 else self.stated
        else:
            body = mutate_body(self.random, self.page())
        return httpx.Response(status, content=body)


@pytest.mark.slow
def test_altered_answers_to_a_service_release_nothing(tmp_path: Path) -> None:
    """Whatever it is answered, it stores nothing; afterwards it releases what was mixed."""
    random, found = Random(8), Counter[str]()
    with shuffled_study(tmp_path) as study:
        study.come_all([1, 0] * 4)
        study.report()
        study.clock.now += 1000 * GRACE + 1
        said = ask_mix(study, 0, 4)
        path = "/v1/helping/small/cohorts/0/mix?start=0"
        with closing(open_database(study.service.address)) as database:
            ((credential,),) = database.rows("SELECT credential FROM pairing")
        messages = read_page(study.shuffler.ask("GET", path, None, credential).json)

        def write_page() -> bytes:
            joined = b"".join(alter_list(random, messages))
            return json.dumps({"width": len(messages[0]), "messages": urlsafe_b64encode(joined).decode()}).encode()

        link = study.service.host.links.links["small"]
        real, before = link._calls, dump(study.service.address)

        async def exchange() -> None:
            link._calls = PartnerCalls("http://shuffler", "", FuzzingShuffler(said.body, write_page))
            (due,) = [each for each in await link.writer.submit("due") if each.cohort == 0]
            for _ in count_messages(5000):
                try:
                    await link._settle(due)
                    found["settled"] += 1
                except (PartnerAway, PartnerRefuses, ProtocolError) as why:
                    found[why.code] += 1
            await link._calls.close()
            link._calls = real

        study.service.run(exchange())
        assert dump(study.service.address) == before
        assert {"partner_away", "forged", "malformed", "disagreement"} <= found.keys()
        assert "settled" not in found
        assert sorted(each["cohort"] for each in study.release()) == [0, 1]
        study.verify()


# --- broken twins ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_envelopes_that_are_bound_to_no_place_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BundleTerms, "of_place", property(lambda self: self.of_cohort))
    with pytest.raises(BaseException, match="DID NOT RAISE"):
        test_altered_envelopes_are_not_opened()


@pytest.mark.slow
def test_who_believes_every_signature_is_noticed(monkeypatch: pytest.MonkeyPatch, mixed: OneMix) -> None:
    monkeypatch.setattr("maskedbandit.study.mix_statement.check_signature", lambda *given: None)
    with pytest.raises(BaseException, match="DID NOT RAISE"):
        test_altered_passes_and_requests_are_forged()
    with pytest.raises(AssertionError):
        test_what_is_refused_changes_nothing(mixed)


@pytest.mark.slow
def test_a_service_that_does_not_look_at_statements_is_noticed(monkeypatch: pytest.MonkeyPatch, mixed: OneMix) -> None:
    monkeypatch.setattr(MixStatement, "match", lambda self, **expected: None)
    with pytest.raises(AssertionError):
        test_altered_statements_are_not_believed(mixed)


@pytest.mark.slow
def test_a_service_that_does_not_look_at_messages_is_noticed(monkeypatch: pytest.MonkeyPatch, mixed: OneMix) -> None:
    said, _ = mixed.mix()
    monkeypatch.setattr("maskedbandit.store.mixes.digest_messages", lambda messages: said.digest)
    with pytest.raises(BaseException, match="DID NOT RAISE"):
        test_altered_messages_are_in_no_release(mixed)


@pytest.mark.slow
def test_a_shuffler_that_takes_the_last_report_is_noticed(monkeypatch: pytest.MonkeyPatch, mixed: OneMix) -> None:
    """Of a place it forgets the first one."""
    monkeypatch.setattr("maskedbandit.store.shuffling.bundles.find_item", lambda *given: None)
    with pytest.raises(AssertionError):
        test_what_is_refused_changes_nothing(mixed)
