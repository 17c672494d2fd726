"""Lies of a shuffler, of a service and of devices, over HTTP: each is refused by name, and nothing is released."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from maskedbandit.errors import InvalidValue
from maskedbandit.shuffle import envelopes
from maskedbandit.shuffle.envelopes import BundleTerms, name_person, seal_envelope
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.own_keys import read_own_keys
from maskedbandit.store.shuffling import bundles, mixes
from maskedbandit.store.shuffling.study import ShufflerStudy
from maskedbandit.study.mix_statement import MixStatement, digest_messages, digest_people, sign_mix, sign_pass
from tests.for_each import for_each
from tests.service.inside import Reply
from tests.service.shuffler_inside import ShuffledStudy, shuffled_study


@pytest.fixture
def study(tmp_path: Path) -> Iterator[ShuffledStudy]:
    """A study with eight people, whose windows are over."""
    with shuffled_study(tmp_path) as made:
        made.come_all([1, 0] * 4)
        yield made


# of the shuffler

OTHER = Ed25519PrivateKey.from_private_bytes(bytes(31) + b"\x01")


class LyingShuffler:
    """Changes what the shuffler states, and signs it with the shuffler's key; or changes the messages."""

    def __init__(self, study: ShuffledStudy, key: Any = None) -> None:
        self.key, self.changes = key or study.shuffler.host.witness.signing_key(), dict[str, Any]()
        self.messages: Any = None  # what it delivers of all

    def __call__(self, method: str, path: str, said: Any) -> Any:
        """What it answers."""
        if not path.partition("?")[0].endswith("/mix"):
            return said
        if method == "POST":
            return MixStatement(**{**said, **self.changes}).sign(self.key).to_table()
        if self.messages is None:
            return said
        joined, width = urlsafe_b64decode(said["messages"]), said["width"]
        found = self.messages([joined[at : at + width] for at in range(0, len(joined), width)])
        return {"width": width, "messages": urlsafe_b64encode(b"".join(found)).decode()}


def lie(study: ShuffledStudy, changes: dict[str, Any], messages: Any = None, key: Any = None) -> str:
    """What the link says of a shuffler that tells this."""
    liar = LyingShuffler(study, key)
    liar.changes, liar.messages = changes, messages
    study.wire.lie = liar
    study.report()
    study.go(61)
    assert study.release() == []
    return str(study.service.host.links.show("small").refusal)


@for_each(
    ("changes", "key", "code"),
    [
        ({}, OTHER, "forged"),
        ({"study": "large"}, None, "disagreement"),
        ({"protocol": "00" * 32}, None, "disagreement"),
        ({"cohort": 5}, None, "disagreement"),
        ({"n": 5}, None, "disagreement"),
        ({"offer": "00" * 32}, None, "disagreement"),
        ({"digest": "00" * 32}, None, "disagreement"),
        ({"reports": 1}, None, "disagreement"),  # with more messages than one person sends
        ({"messages": 3}, None, "disagreement"),
    ],
)
def test_a_statement_that_does_not_fit_releases_nothing(
    study: ShuffledStudy, changes: dict[str, Any], key: Any, code: str
) -> None:
    assert lie(study, changes, key=key) == code


@pytest.mark.slow
def test_a_shuffler_that_stops_lying_is_believed(study: ShuffledStudy) -> None:
    assert lie(study, {"n": 5}) == "disagreement"
    study.wire.lie = None
    study.go(61)
    assert len(study.release()) == 2
    study.verify()


def swap_first_two(messages: list[bytes]) -> list[bytes]:
    """Another order."""
    return [messages[1], messages[0], *messages[2:]]


@for_each(
    "messages",
    [
        swap_first_two,
        lambda messages: [*messages[:-1], messages[0]],
        lambda messages: [*messages[:-1], bytes(len(messages[0]))],
        lambda messages: messages[1:] + messages[1:2],
    ],
)
def test_other_messages_than_were_signed_for_release_nothing(study: ShuffledStudy, messages: Any) -> None:
    assert lie(study, {}, messages) == "disagreement"


def test_a_shuffler_that_doubles_a_message_and_signs_for_it_is_refused(study: ShuffledStudy) -> None:
    """Whoever hears one message twice learns something of it."""
    liar = LyingShuffler(study)
    study.report()
    pages = dict[str, list[bytes]]()

    def double(messages: list[bytes]) -> list[bytes]:
        return [messages[0], *messages[:-1]]

    def doubled(method: str, path: str, said: Any) -> Any:
        if path.endswith("/mix") and method == "POST":
            with closing(open_database(study.shuffler.address)) as database:
                find = "SELECT message FROM mixed WHERE study = 'small' AND cohort = ? ORDER BY number"
                stored = [bytes.fromhex(text) for (text,) in database.rows(find, said["cohort"])]
            pages[path] = double(stored)
            liar.changes = {"digest": digest_messages(pages[path])}
            return liar(method, path, said)
        liar.messages = double
        return liar(method, path, said)

    study.wire.lie = doubled
    assert study.release() == []
    assert pages
    assert study.service.host.links.show("small").refusal == "disagreement"


def test_a_link_that_does_not_look_at_doubled_messages_is_found(
    study: ShuffledStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maskedbandit.store.mixes.set", list, raising=False)
    with pytest.raises(AssertionError):
        test_a_shuffler_that_doubles_a_message_and_signs_for_it_is_refused(study)


# of the service


def ask_mix(
    study: ShuffledStudy, cohort: int, n: int, signed_n: int | None = None, key: Any = None, without: int = 0
) -> Reply:
    """The answer of the shuffler to a service that asks for this."""
    protocol = study.service.host.held["small"].study.protocol
    (offer,) = protocol.offers(signed_n or n)
    terms = BundleTerms(bytes.fromhex(protocol.digest), cohort, offer.digest, 0)
    with closing(open_database(study.service.address)) as database:
        ((credential,),) = database.rows("SELECT credential FROM pairing")
        find = "SELECT ticket FROM place WHERE cohort = ? AND returned IS NULL ORDER BY place"
        people = b"".join(name_person(ticket) for (ticket,) in database.rows(find, cohort))
    people = people[: 8 * n] + bytes(max(0, 8 * n - len(people)))
    signed = sign_mix(key or study.service.host.witness.signing_key(), terms.of_cohort, digest_people(people))
    body = {"n": n, "people": urlsafe_b64encode(people[8 * without :]).decode(), "signature": signed}
    return study.shuffler.ask("POST", f"/v1/helping/small/cohorts/{cohort}/mix", body, credential)


def test_a_cohort_has_one_mix(study: ShuffledStudy) -> None:
    """An early one is the only one: what comes later is in none."""
    first = [unit for unit, place in study.places.items() if place["terms"]["cohort"] == 0]
    study.report(*first[:3])
    early = ask_mix(study, 0, 4)
    assert (early.status, early.json["reports"]) == (200, 3)
    study.devices[first[3]].contact()
    assert study.answers(first[3]) == ["late"]
    again = ask_mix(study, 0, 4)
    assert again.body == early.body
    assert study.entries(study.shuffler, "mixed")[0]["reports"] == 3


def test_a_shuffler_that_keeps_a_cohort_open_is_found(study: ShuffledStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    """It forgets that it mixed it, so that it takes the report of somebody who comes later."""
    real = mixes.mix_now

    def keep(session: Any, *given: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(type(session.database), "change", lambda *told: 1)
            made = real(session, *given)
        session.made = {}
        return made

    monkeypatch.setattr(mixes, "mix_now", keep)
    with pytest.raises(AssertionError, match="stored"):
        test_a_cohort_has_one_mix(study)


def test_a_shuffler_that_mixes_twice_is_found(study: ShuffledStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    """When it is asked again it mixes what is there by then: nothing."""
    real = mixes.mix_cohort

    def forget(session: Any, *given: Any) -> Any:
        session.made = {}
        return real(session, *given)

    monkeypatch.setitem(ShufflerStudy.operations, "mix_cohort", forget)
    with pytest.raises(AssertionError, match="messages"):
        test_a_cohort_has_one_mix(study)


def test_a_second_shorter_mix_is_refused(study: ShuffledStudy) -> None:
    study.report()
    assert ask_mix(study, 0, 4).status == 200
    found = ask_mix(study, 0, 3)
    assert (found.status, found.code) == (409, "disagreement")


@for_each(
    ("given", "code"),
    [
        ({"n": 4, "signed_n": 5}, "forged"),
        ({"n": 4, "key": OTHER}, "forged"),
        ({"n": 4, "without": 1}, "forged"),
        ({"n": 5}, "disagreement"),  # and devices were told that it has 4 places
    ],
)
def test_a_mix_that_is_not_asked_for_as_devices_were_told_is_refused(
    study: ShuffledStudy, given: dict[str, Any], code: str
) -> None:
    study.report()
    found = ask_mix(study, 0, **given)
    assert (found.status, found.code) == (409, code)
    assert study.entries(study.shuffler, "mixed") == []


# of devices, and of strangers


def write_bundle(study: ShuffledStudy, unit: str, **changes: Any) -> dict[str, Any]:
    """What this person's device sends, with changes: `of` is what it is bound to, and `key` makes the pass."""
    place = study.places[unit]
    protocol = study.service.host.held["small"].study.protocol
    position, cohort = int(place["offer"].rpartition("position=")[2]), place["terms"]["cohort"]
    (offer,) = protocol.offers(4)
    of: dict[str, Any] = {"study": bytes.fromhex(protocol.digest), "cohort": cohort, "offer": offer.digest}
    of |= {"place": position, "who": changes.pop("who", name_person(place["ticket"]))}
    terms = BundleTerms(**of)
    shown = sign_pass(changes.pop("key", study.service.host.witness.signing_key()), terms)
    sealed_for = BundleTerms(**(of | changes.pop("of", {})))
    many = protocol.channel.bundle_size(offer.at(position)) + changes.pop("more", 0)
    keys = [read_own_keys(each.host.witness).seals for each in (study.service, study.shuffler)]
    sealed = seal_envelope([1] * many, 2, sealed_for, *keys)
    body = {"cohort": cohort, "n": 4, "place": position, "offer": offer.digest.hex(), "shown": shown}
    body["who"] = of["who"].hex()
    return {**body, "sealed": urlsafe_b64encode(sealed).decode(), **changes}


def send(study: ShuffledStudy, body: dict[str, Any]) -> Reply:
    """The shuffler's answer to a device."""
    return study.shuffler.ask("POST", "/v1/studies/small/bundle", body, None)


@pytest.mark.slow
@for_each(
    ("changes", "status", "code"),
    [
        ({"key": OTHER}, 409, "forged"),  # a stranger
        ({"shown": "00" * 64}, 409, "forged"),
        ({"place": 3, "cohort": 9}, 409, "forged"),  # the pass of another place
        ({"cohort": 1}, 409, "forged"),  # one report for two cohorts
        ({"n": 5}, 409, "disagreement"),
        ({"of": {"cohort": 77}}, 422, "personal_value"),
        ({"of": {"place": 77}}, 422, "personal_value"),
        ({"of": {"offer": bytes(32)}}, 422, "personal_value"),  # a device that was told something else
        ({"of": {"study": bytes(32)}}, 422, "personal_value"),
        ({"more": 1}, 422, "personal_value"),
        ({"more": -1}, 422, "personal_value"),
        ({"sealed": "AAAA"}, 422, "personal_value"),
        ({"sealed": "!"}, 422, "invalid_value"),
        ({"place": 2**32}, 422, "invalid_value"),
        ({"shown": "00" * 64, "who": bytes(8)}, 409, "forged"),
        ({"of": {"who": bytes(8)}}, 422, "personal_value"),
    ],
)
def test_a_bundle_that_is_not_of_its_place_is_refused(
    study: ShuffledStudy, changes: dict[str, Any], status: int, code: str
) -> None:
    unit = next(unit for unit, place in study.places.items() if place["terms"]["cohort"] == 0)
    found = send(study, write_bundle(study, unit, **dict(changes)))
    assert (found.status, found.code) == (status, code)
    assert study.shuffler.verify().bundles == 0


def test_the_first_report_of_a_place_stands(study: ShuffledStudy) -> None:
    (first, *_) = study.places
    body = write_bundle(study, first)
    assert send(study, body).json["status"] == "stored"
    again = send(study, body)
    assert (again.status, again.json["status"]) == (200, "duplicate")
    assert len(again.body) == len(send(study, body).body)
    other = send(study, write_bundle(study, first))
    assert (other.status, other.code) == (409, "conflict")
    assert study.shuffler.verify().bundles == 1


def test_a_message_that_nobody_can_read_discards_the_cohort(study: ShuffledStudy) -> None:
    """Encrypted for somebody else than the service: the shuffler cannot know that."""
    cohort = [unit for unit, place in study.places.items() if place["terms"]["cohort"] == 0]
    body = write_bundle(study, cohort[0])
    position, protocol = body["place"], study.service.host.held["small"].study.protocol
    (offer,) = protocol.offers(4)
    who = name_person(study.places[cohort[0]]["ticket"])
    terms = BundleTerms(bytes.fromhex(protocol.digest), 0, offer.digest, position, who)
    key = read_own_keys(study.shuffler.host.witness).seals
    sealed = seal_envelope([1] * protocol.channel.bundle_size(offer.at(position)), 2, terms, key, key)
    assert send(study, body | {"sealed": urlsafe_b64encode(sealed).decode()}).status == 200
    study.report(*[unit for unit in study.places if unit != cohort[0]])
    assert [each["cohort"] for each in study.release()] == [1]
    (discarded,) = study.entries(study.service, "discarded")
    assert json.loads(discarded["mixed"])["reports"] == 4
    study.verify()


def test_a_message_that_two_people_send_discards_the_cohort(
    study: ShuffledStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two people who agreed on it: each of both bundles is in order, and a sum of both would not be."""
    cohort = [unit for unit, place in study.places.items() if place["terms"]["cohort"] == 0]
    real, sent = envelopes.seal_bundle, list[bytes]()

    def share(messages: Any, below: int, key: bytes, of: bytes) -> bytes:
        found = real(messages, below, key, of)
        wide = len(found) // len(messages)
        sent.append(sent[0] if sent else found[:wide])
        return sent[0] + found[wide:]

    with monkeypatch.context() as patch:
        patch.setattr(envelopes, "seal_bundle", share)
        for unit in cohort[:2]:
            assert send(study, write_bundle(study, unit)).status == 200
    study.report(*[unit for unit in study.places if unit not in cohort[:2]])
    assert [each["cohort"] for each in study.release()] == [1]
    (discarded,) = study.entries(study.service, "discarded")
    assert json.loads(discarded["mixed"])["reports"] == 4
    study.verify()
    assert study.shuffler.verify().mixes == 2


def test_a_pass_is_given_once_the_arm_was_seen_and_is_the_same_each_time(tmp_path: Path) -> None:
    with shuffled_study(tmp_path) as study:
        place = study.service.assign("new")["device"]
        early = study.service.study("pass", {"ticket": place["ticket"]}, None)
        assert (early.status, early.code) == (409, "not_exposed")
        assert study.service.study("pass", {"ticket": "0" * 32}, None).status == 404
        study.service.study("expose", {"ticket": place["ticket"]})
        first, second = (study.service.study("pass", {"ticket": place["ticket"]}, None) for _ in range(2))
        assert first.status == 200
        assert first.body == second.body


@for_each("address", ["", "https://shuffler.test?of=person", "https://person@shuffler.test"])
def test_a_device_takes_no_place_whose_shuffler_it_cannot_reach(study: ShuffledStudy, address: str) -> None:
    """It could not even leave: what a service hands out must not stop a device."""
    device = study.make_device(f"with{len(address)}")
    leader, shuffler = next(iter(study.places.values()))["operators"]
    place = next(iter(study.places.values())) | {"operators": [leader, shuffler | {"address": address}]}
    with pytest.raises(InvalidValue, match="address of the helper"):
        device.join(place)
    assert device.show() == []
    device.close()


@pytest.mark.slow
def test_who_leaves_takes_her_report_with_her(study: ShuffledStudy) -> None:
    study.report()
    (first, *_) = study.places
    before = study.shuffler.verify().bundles
    study.devices[first].leave("small")
    assert study.shuffler.verify().bundles == before - 1
    study.release()
    said = [json.loads(each["mixed"])["reports"] for each in study.entries(study.service, "released")]
    assert sorted(said) == [3, 4]


def test_a_person_with_a_false_pass_is_rid_of_the_shuffler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It took no report with that pass, and is asked once, not at every contact for ever."""
    with shuffled_study(tmp_path) as study:
        monkeypatch.setattr("maskedbandit.store.mixes.sign_pass", lambda key, terms: sign_pass(OTHER, terms))
        study.come("person", 1)
        study.report()
        assert study.answers("person") == [""]
        before = len(study.passed)
        study.devices["person"].leave("small")
        assert [each.status for each in study.passed[before:] if each.path.endswith("withdraw")] == [409]
        before = len(study.passed)
        study.devices["person"].contact()
        assert study.passed[before:] == []


@pytest.mark.slow
def test_whom_the_team_erases_is_in_no_mix(study: ShuffledStudy) -> None:
    study.report()
    unit = next(unit for unit, place in study.places.items() if place["terms"]["cohort"] == 0)
    assert study.service.study("erase", {"unit": unit}, key="owner").status == 200
    assert [each["cohort"] for each in study.release()] == [0, 1]
    assert [each["reports"] for each in study.entries(study.shuffler, "mixed")] == [3, 4]
    study.verify()
    study.shuffler.verify()


@pytest.mark.slow
def test_a_service_that_does_not_say_who_was_erased_is_found(
    study: ShuffledStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = mixes.mix_cohort

    def everybody(session: Any, cohort: int, n: int, people: bytes, signature: str) -> Any:
        find = "SELECT place, item FROM bundle WHERE study = ? AND cohort = ?"
        here = dict(session.database.rows(find, session.name, cohort))
        with monkeypatch.context() as patch:
            patch.setattr(mixes, "check_mix", lambda *given: None)
            named = b"".join(bytes.fromhex(here.get(place, "00" * 8)[:16]) for place in range(n))
            return real(session, cohort, n, named, signature)

    monkeypatch.setitem(ShufflerStudy.operations, "mix_cohort", everybody)
    with pytest.raises(AssertionError):
        test_whom_the_team_erases_is_in_no_mix(study)


def test_a_pass_erases_the_report_of_no_other_person(study: ShuffledStudy) -> None:
    """An older copy of the service's database gave the place to somebody else, whose report came first."""
    (first, *_) = study.places
    body = write_bundle(study, first)
    assert send(study, body).status == 200
    other = write_bundle(study, first, who=bytes(8))
    left = {key: other[key] for key in other if key != "sealed"}
    assert study.shuffler.ask("POST", "/v1/studies/small/withdraw", left, None).json["status"] == "left"
    assert send(study, other).code == "conflict"
    assert study.shuffler.verify().bundles == 1


@pytest.mark.slow
def test_what_comes_after_a_person_left_is_in_no_mix(study: ShuffledStudy) -> None:
    """It was on its way, and is late; or whoever carries what devices send sends it once more."""
    study.report()
    first, second = [unit for unit, place in study.places.items() if place["terms"]["cohort"] == 0][:2]
    sent = [json.loads(body) for body in study.bodies if b'"sealed"' in body]
    for unit in (first, second):
        study.devices[unit].leave("small")
        place = int(study.places[unit]["offer"].rpartition("position=")[2])
        (again,) = [each for each in sent if (each["cohort"], each["place"]) == (0, place)]
        for body in (again, write_bundle(study, unit)):
            found = send(study, body)
            assert (found.status, found.code) == (410, "late")
    assert study.shuffler.verify().bundles == 6
    study.release()
    assert sorted(each["reports"] for each in study.entries(study.shuffler, "mixed")) == [2, 4]
    with closing(open_database(study.shuffler.address)) as database:
        assert database.rows("SELECT * FROM bundle") == []


def test_who_leaves_before_reporting_reports_no_more(study: ShuffledStudy) -> None:
    (first, *_) = study.places
    body = write_bundle(study, first)
    left = {key: body[key] for key in body if key != "sealed"}
    for _ in range(2):
        assert study.shuffler.ask("POST", "/v1/studies/small/withdraw", left, None).json["status"] == "left"
    assert send(study, body).code == "late"
    assert study.shuffler.verify().bundles == 0


def test_a_shuffler_that_forgets_who_left_is_found(study: ShuffledStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "is_size", lambda *given: False)
    with pytest.raises(AssertionError):
        test_who_leaves_before_reporting_reports_no_more(study)
