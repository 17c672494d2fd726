"""More than a million altered messages of two operators: each is refused, with a reason, and none counts.

700,000 bodies of uploads and of requests to the helper, by what reads them
250,000 sealed shares, opened by whom they are for, or as a report of something else
160,000 shares with a proof, which a device could have made and sealed itself
 80,000 statements of totals and requests for them, read and verified
 12,000 whole requests, to a leader and to a helper that go on
"""

import json
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from maskedbandit.errors import Forged, InvalidValue, Malformed, ProtocolError
from maskedbandit.secagg.helper_total import HelperTotal
from maskedbandit.secagg.prio3 import FIELD, HELPER, LEADER, Range, pack, unpack
from maskedbandit.secagg.total_request import TotalRequest
from maskedbandit.secagg.uploads import ReportTerms, ShareReader, Upload, seal_report
from maskedbandit.service.api.uploads import ROUTES as OF_DEVICES
from maskedbandit.service.api.uploads import decode_share
from maskedbandit.service.helping.messages import AskTotal, HelpStudy, OfferReports, Pair
from maskedbandit.service.helping.operators import ROUTES as OF_OPERATORS
from maskedbandit.service.helping.studies import ROUTES as OF_STUDIES
from maskedbandit.service.helping.totals import ROUTES as OF_TOTALS
from maskedbandit.service.messages import LeaveStudy, UploadReport
from maskedbandit.service.request.route import Call
from tests.altered_messages import SHARE, count_messages, flip_bytes, mutate_body
from tests.service.inside import Inside
from tests.service.many_studies_of_two import many_studies_of_two

pytestmark = pytest.mark.slow
VERIFY = bytes(range(32))


class Sealing:
    """Keys of both operators, and a report of a device."""

    def __init__(self, largest: int) -> None:
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        self.random = Random(largest)
        private = [X25519PrivateKey.from_private_bytes(self.random.randbytes(32)) for _ in (LEADER, HELPER)]
        first, second = (each.public_key().public_bytes_raw() for each in private)
        self.readers = [ShareReader(role, each, VERIFY) for role, each in enumerate(private)]
        self.terms = ReportTerms(bytes(32), 3, bytes(31) + b"\1", largest, 7)
        self.upload = seal_report(self.terms, 1, (first, second), 5, self.random.randbytes)


def alter(random: Random, terms: ReportTerms, sent: Upload) -> tuple[ReportTerms, Upload]:
    """The same report with something that is another one."""
    kind = random.randrange(8)
    if kind < 4:
        part = ("leader", "helper")[kind % 2]
        return terms, sent._replace(**{part: flip_bytes(random, getattr(sent, part))})
    if kind == 4:
        return terms, sent._replace(report=flip_bytes(random, sent.report))
    if kind == 5:
        return terms, sent._replace(turn=random.choice((0, 1, 4, 6, 2**32 - 1, 2**63)))
    if kind == 6:
        return terms, sent._replace(leader=sent.helper, helper=sent.leader)
    name = random.choice(("study", "offer", "cohort", "place"))
    other = random.randbytes(32) if name in ("study", "offer") else random.randrange(8, 2**40)
    return replace(terms, **{name: other}), sent


def is_accepted(sealing: Sealing, terms: ReportTerms, sent: Upload) -> bool:
    """Whether both operators would add up a report; whatever else than a refusal comes of it is a fault."""
    try:
        shares = [
            reader.read(terms, sent.report, sent.turn, sealed)
            for reader, sealed in zip(sealing.readers, (sent.leader, sent.helper), strict=True)
        ]
        terms.range.check(shares[0].verifier, shares[1].verifier)
    except ProtocolError:
        return False
    return True


@pytest.mark.parametrize("largest", [1, 255])
def test_altered_reports_are_not_opened(largest: int) -> None:
    sealing = Sealing(largest)
    assert is_accepted(sealing, sealing.terms, sealing.upload)
    for _ in count_messages(125_000):
        assert not is_accepted(sealing, *alter(sealing.random, sealing.terms, sealing.upload))


@pytest.mark.parametrize(("largest", "many"), [(1, 110_000), (255, 50_000)])
def test_proofs_that_were_altered_do_not_hold(largest: int, many: int) -> None:
    """A lying device knows all but the key of the proofs: any other numbers are a proof once in 2^50 times or less."""
    random, kind = Random(largest), Range(largest, b"fuzzed")
    nonce, found = random.randbytes(16), Counter[str]()
    leader, helper = kind.shard(1, random.randbytes(64))
    his = kind.query(HELPER, VERIFY, nonce, helper)[1]
    kind.check(kind.query(LEADER, VERIFY, nonce, leader)[1], his)
    numbers = unpack(leader, len(leader) // 8)
    for _ in (messages := count_messages(many)):
        if random.random() < 0.2:
            share = flip_bytes(random, leader)
        else:
            changed = list(numbers)
            for _ in range(random.choice((1, 1, 2, len(changed)))):
                i = random.randrange(len(changed))
                changed[i] = (changed[i] + random.choice((1, 2, FIELD - 1, random.randrange(1, FIELD)))) % FIELD
            share = pack(changed)
        if share == leader:
            continue
        try:
            kind.check(kind.query(LEADER, VERIFY, nonce, share)[1], his)
        except (Forged, Malformed) as why:
            found[why.code] += 1
        else:
            raise AssertionError("a proof holds that was altered")
    assert found.total() > 0.99 * len(messages)
    assert len(found) == 2


def test_operators_that_look_at_less_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that does not check proofs, and seals that are bound to less than the report and its place."""
    with monkeypatch.context() as patch:
        patch.setattr(Range, "check", lambda self, leader, helper: None)
        with pytest.raises(AssertionError, match="a proof holds"):
            test_proofs_that_were_altered_do_not_hold(1, 110_000)
    for name in ("offer", "cohort", "place"):  # proofs are bound to the study, too
        with monkeypatch.context() as patch:
            real = ReportTerms.bind
            same = {name: bytes(32) if name == "offer" else 0}
            patch.setattr(
                ReportTerms, "bind", lambda self, *given, same=same, real=real: real(replace(self, **same), *given)
            )
            with pytest.raises(AssertionError):
                test_altered_reports_are_not_opened(1)
    with monkeypatch.context() as patch:
        patch.setattr(ReportTerms, "bind", lambda self, role, report, turn, real=real: real(self, role, report, 0))
        with pytest.raises(AssertionError):
            test_altered_reports_are_not_opened(1)


def test_altered_statements_are_not_believed() -> None:
    """A total, and a request for one: what is read and verified says what was signed."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    random = Random(5)
    key = Ed25519PrivateKey.from_private_bytes(random.randbytes(32))
    public = key.public_key().public_bytes_raw()
    named: dict[str, Any] = {"study": "small", "protocol": "0a" * 32, "cohort": 3, "n": 4, "digest": "1b" * 32}
    said = HelperTotal(**named, reports=3, offer="2c" * 32, total=FIELD - 7, entry=2).sign(key)
    text, table, refused = said.to_text().encode(), said.to_table(), 0
    for _ in count_messages(60_000):
        try:
            found = HelperTotal.from_text(mutate_body(random, text).decode("utf-8", "surrogateescape"))
            found.verify(public)
        except ProtocolError:
            refused += 1
        else:
            assert found == said
    assert refused > 45_000 * SHARE
    asked = TotalRequest(**named).sign(key)
    for _ in count_messages(20_000):
        name = random.choice([*named, "signature"])
        value = getattr(asked, name)
        other = (
            value + random.randrange(1, 9)
            if isinstance(value, int)
            else flip_bytes(random, value.encode()).decode("latin-1")
        )
        with pytest.raises(Forged):
            replace(asked, **{name: other}).verify(public)
    assert table["total"] == str(FIELD - 7)


def write_bodies() -> dict[type, bytes]:
    """A sound body of each kind that an operator of two reads."""
    sent = Sealing(1).upload
    leader, helper = (urlsafe_b64encode(each).decode() for each in (sent.leader, sent.helper))
    name = sent.report.hex()
    report = {
        "place": 1,
        "report": name,
        "turn": 0,
        "sealed": helper,
        "verifier": urlsafe_b64encode(bytes(32)).decode(),
    }
    bodies: dict[type, Any] = {
        UploadReport: {"ticket": "k3" * 16, "report": name, "turn": 5, "leader": leader, "helper": helper},
        LeaveStudy: {"ticket": "k3" * 16},
        OfferReports: {"n": 4, "reports": [report, report | {"place": 2}]},
        AskTotal: {"n": 4, "left_out": [3], "digest": "1b" * 32, "signature": "2c" * 64},
        Pair: {"token": "x" * 43, "name": "Clinic", "seals": "3d" * 32, "signs": "4e" * 32, "signature": "5f" * 64},
        HelpStudy: {"protocol": '{"name": "small"}'},
    }
    return {kind: json.dumps(body).encode() for kind, body in bodies.items()}


def test_altered_bodies_are_read_or_refused(service: Inside) -> None:
    """What is let pass has the type of its route, and an upload of it the sizes of all others."""
    bodies, random, read, refused = write_bodies(), Random(3), Counter[str](), Counter[str]()
    routes = [each for each in (*OF_DEVICES, *OF_OPERATORS, *OF_STUDIES, *OF_TOTALS) if each.body in bodies]
    assert len(routes) == len(bodies)
    for i in count_messages(700_000):
        route = routes[0] if i % 2 else random.choice(routes)
        call = Call(service.host, service.scope("POST", "/", None, ()) | {"path_params": {}}, None, None)
        call.raw = mutate_body(random, bodies[route.body])
        try:
            found = route.decoded(call)
            if isinstance(found, UploadReport):
                shares = decode_share(found.leader), decode_share(found.helper)
                Upload(bytes.fromhex(found.report), found.turn, *shares).check(1)
        except (InvalidValue, Malformed) as why:
            refused[why.code] += 1
        else:
            assert type(found) is route.body
            read[route.body.__name__] += 1
    assert set(read) == {each.__name__ for each in bodies}
    assert refused.total() > 400_000 * SHARE


def test_altered_requests_have_no_fault() -> None:
    """Both servers go on, and what is released afterwards is what the devices reported."""
    random, found = Random(4), Counter[int]()
    table = {
        "name": "fuzzed",
        "project": "fuzzed",
        "people": 40,
        "channel": {"name": "two_servers", "epsilon": 60, "backend": "prio3"},
    }
    table |= {"reward": {"window": "1 second", "exposure": "1 hour"}, "budget": {"epsilon": 60}}
    with many_studies_of_two() as both:
        study = both.leader.run(both.begin("fuzzed", table))
        sent, real = list[tuple[str, str, bytes]](), both.leader.asked

        async def listen(method: str, path: str, body: Any = None, *given: Any) -> Any:
            if path.endswith("/upload"):
                sent.append((method, path, body))
            return await real(method, path, body, *given)

        both.leader.asked = listen
        both.leader.run(both.come(study, 4, lambda arm: 1, lambda: False))

        async def ask_leader() -> None:
            for _ in count_messages(6000):
                method, path, body = random.choice(sent)
                found[(await real(method, path, change_body(random, body), None)).status] += 1

        both.leader.run(ask_leader())
        kept = keep_requests(both.wire)
        both.settle()
        assert len(kept) >= 5

        async def ask_helper() -> None:
            for _ in count_messages(6000):
                method, path, body, key = random.choice(kept)
                given = change_body(random, body)
                reply = await both.helper.asked(method, path, given, key if random.random() < 0.95 else None)
                found[reply.status] += 1

        both.thread.submit(lambda: both.helper.run(ask_helper())).result()
        both.leader.run(both.come(study, 8, lambda arm: 1, lambda: False))
        both.settle()
        cohorts = both.read(study)
        assert [each.total for each in cohorts] == [each.told for each in cohorts] == [2, 2, 4, 4]
    assert max(found) < 500, found
    assert found[200] > 500 * SHARE
    print(found)


def change_body(random: Random, body: bytes) -> bytes:
    """A body with a few changes; one that would be a newer report of its device is none."""
    given = mutate_body(random, body)
    return body if b'"turn":0' not in given and b'"turn":0' in body else given


def keep_requests(wire: Any) -> list[tuple[str, str, bytes, str]]:
    """What the leader asks the helper from now on."""
    kept = list[tuple[str, str, bytes, str]]()
    real: Callable[..., Any] = wire.handle_async_request

    async def handle(request: Any) -> Any:
        key = request.headers["authorization"].removeprefix("Bearer ")
        kept.append((request.method, request.url.path, await request.aread(), key))
        return await real(request)

    wire.handle_async_request = handle
    return kept
