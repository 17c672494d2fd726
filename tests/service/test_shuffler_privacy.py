"""What the service, the shuffler, the network and both databases tell of an outcome, and of who sent what."""

import json
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from maskedbandit.channels.offers import Offer
from maskedbandit.channels.shuffled import Shuffled
from maskedbandit.channels.split_and_mix import SplitAndMix
from maskedbandit.device import Device
from maskedbandit.device.service_calls import DeviceRequest, ServiceCalls
from maskedbandit.device.shuffled_reports import read_mixing_channel
from maskedbandit.errors import InvalidValue
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.privacy.sampling import Bits
from maskedbandit.shuffle import sealed_messages
from maskedbandit.shuffle.envelopes import name_person
from maskedbandit.store.book.mixes import decode_mix
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.own_keys import read_seal_key
from maskedbandit.store.shuffling import mixes
from maskedbandit.store.traces import Scrubber
from maskedbandit.study.mix_statement import MixStatement
from maskedbandit.study.protocol import Protocol
from tests.for_each import for_each
from tests.service.shuffler_inside import CHANNEL, SPLIT, Passed, ShuffledStudy, shuffled_study
from tests.statistics import same_distribution, seeded
from tests.store.small_study import small_protocol


def play(folder: Path, victim: list[tuple[int, float]], channel: Any = CHANNEL) -> list[Passed]:
    """What passed on the network, where one person has these outcomes, at these seconds after exposure."""
    with shuffled_study(folder, channel=channel) as study:
        study.come_all([1, 0, None, 1, 0, 1, 0])
        study.come("victim", None)
        for at, value in victim:
            study.clock.now += 1000 * at
            study.devices["victim"].record("small", value)
            study.clock.now -= 1000 * at
        for _ in range(3):  # whoever is in contact within the window sends nothing
            study.clock.now += 1000
            for device in study.devices.values():
                device.contact()
        study.clock.now -= 3000
        study.report()
        study.release()
        return study.passed


WORLDS: dict[str, list[tuple[int, float]]] = {
    "nothing": [],
    "one": [(1, 1)],
    "default": [(1, 0)],
    "late": [(19, 1)],
    "often": [(1, 1), (5, 0), (9, 0.5)],
}


@pytest.mark.slow
@pytest.mark.parametrize("channel", [CHANNEL, SPLIT], ids=["coins", "shares"])
def test_two_worlds_look_alike_to_whoever_sees_the_network(tmp_path: Path, channel: Any) -> None:
    """Number, order, times, addresses, paths and sizes of all that devices send, and of all answers."""
    seen = [play(tmp_path / name, world, channel) for name, world in WORLDS.items()]
    assert len(seen[0]) >= 16
    assert all(one == other for one, other in pairwise(seen))


class SendsAtOnce(Device):
    """A broken twin: it tells the service when somebody has an outcome."""

    def record(self, study: str, value: float, metric: str = "") -> bool:
        """Keep the outcome, and be in contact."""
        if value:
            self._calls.post([DeviceRequest(study, "pass", "{}")])
        return super().record(study, value, metric)


@pytest.mark.slow
def test_a_device_that_sends_because_of_an_outcome_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.service.shuffler_inside.Device", SendsAtOnce)
    seen = [play(tmp_path / name, WORLDS[name]) for name in ("nothing", "one")]
    assert seen[0] != seen[1]


@pytest.fixture
def study(tmp_path: Path) -> Iterator[ShuffledStudy]:
    """A study with eight people who have reported."""
    with shuffled_study(tmp_path) as made:
        made.come_all([1, 0, 1, 1, None, 0, 0, 1])
        yield made


def test_the_service_sees_no_device_that_reports(study: ShuffledStudy) -> None:
    before = len(study.passed)
    study.report()
    assert {each.to for each in study.passed[before:]} == {"shuffler.test"}


def test_the_shuffler_gets_no_key_of_the_service(tmp_path: Path) -> None:
    """Neither with a report nor when its person leaves; the service gets it with each request."""
    with shuffled_study(tmp_path) as study:
        study.key = study.service.keys["client"]
        study.come("person", 1)
        study.report()
        study.devices["person"].leave("small")
        shown = [(each.to, "authorization" in names) for each, names in zip(study.passed, study.headers, strict=True)]
        assert set(shown) == {("leader.test", True), ("shuffler.test", False)}
        asked = [each.path.rpartition("/")[2] for each in study.passed if each.to == "shuffler.test"]
        assert asked == ["bundle", "withdraw"]


def test_a_device_that_shows_its_key_to_the_shuffler_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def reach(self: Device, address: str) -> ServiceCalls:
        return ServiceCalls(address, self._calls.find_key("small"), self._transport)

    monkeypatch.setattr(Device, "_reach_shuffler", reach)
    with pytest.raises(AssertionError, match="True"):
        test_the_shuffler_gets_no_key_of_the_service(tmp_path)


def read_all(study: ShuffledStudy, of: Any) -> bytes:
    """All that is stored, as rows, and in the files of the database and of its witness, after they were scrubbed."""
    with closing(open_database(of.address)) as database:
        assert Scrubber().scrub(database)
        rows = [str(row) for table in sorted(database.tables()) for row in database.rows(f"SELECT * FROM {table}")]
    name = of.address.rpartition("/")[2]
    files = [path.read_bytes() for path in sorted(study.folder.glob(f"{name}*"))]
    return "\n".join(rows).encode() + b"".join(files)


def open_bundles(study: ShuffledStudy) -> dict[str, list[str]]:
    """The encrypted messages of each person's bundle, in hexadecimal, as the shuffler has them before it mixes."""
    with closing(open_database(study.shuffler.address)) as database:
        rows = database.rows("SELECT cohort, place, messages FROM bundle WHERE study = 'small'")
    found = {(cohort, place): messages for cohort, place, messages in rows}
    wide = 2 * (1 + sealed_messages.MESSAGE_SEAL_SIZE)
    bundles = dict[str, list[str]]()
    for unit, given in study.places.items():
        text = found[given["terms"]["cohort"], int(given["offer"].rpartition("position=")[2])]
        bundles[unit] = [text[at : at + wide] for at in range(0, len(text), wide)]
    return bundles


def test_what_each_of_both_stores_joins_nobody_with_a_message(study: ShuffledStudy) -> None:
    """Canaries are the messages themselves, and the envelopes: random texts that are in nothing else."""
    study.report()
    bundles = open_bundles(study)
    messages = [each for bundle in bundles.values() for each in bundle]
    service = read_all(study, study.service)
    assert not [each for each in messages if each.encode() in service or bytes.fromhex(each) in service]
    tickets = [place["ticket"] for place in study.places.values()]
    names, shuffler = [name_person(each) for each in tickets], read_all(study, study.shuffler)
    assert all(each.hex().encode() in shuffler for each in names)  # until then it knows whose each bundle is
    assert len(study.release()) == 2
    service, shuffler = read_all(study, study.service), read_all(study, study.shuffler)
    assert not [each for each in messages if each.encode() in service or bytes.fromhex(each) in service]
    envelopes = [json.loads(body)["sealed"] for body in study.bodies if b'"sealed"' in body]
    assert len(envelopes) == 8
    for each in envelopes:
        assert each.encode() not in service + shuffler
    for bundle in bundles.values():  # of each message there is one copy in rows and files, in no order of a bundle
        assert "".join(bundle).encode() not in shuffler
    assert not [each for each in names if each.hex().encode() in shuffler or each in shuffler]
    assert not [each for each in tickets if each.encode() in shuffler]
    assert all(each.encode() in service for each in tickets)


def test_a_shuffler_that_keeps_bundles_is_found(study: ShuffledStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    real = mixes.mix_now

    def keep(session: Any, *given: Any) -> Any:
        change = session.database.change
        with monkeypatch.context() as patch:
            patch.setattr(
                session.database, "change", lambda text, *told: 1 if "FROM bundle" in text else change(text, *told)
            )
            return real(session, *given)

    monkeypatch.setattr(mixes, "mix_now", keep)
    with pytest.raises(AssertionError):
        test_what_each_of_both_stores_joins_nobody_with_a_message(study)


def test_the_shuffler_cannot_read_what_it_mixes(study: ShuffledStudy) -> None:
    study.report()
    protocol = study.service.host.held["small"].study.protocol
    (offer,) = protocol.offers(4)
    of_cohort = bytes.fromhex(protocol.digest) + bytes(8) + offer.digest
    first = [bytes.fromhex(each) for each in next(iter(open_bundles(study).values()))]
    info = sealed_messages.bind_message(2, of_cohort)
    own = read_seal_key(study.shuffler.host.witness)
    with pytest.raises(Exception, match="was altered"):
        sealed_messages.open_message(first[0], 2, info, own)


def test_the_order_is_drawn_from_the_systems_bits(study: ShuffledStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the shuffle of `shuffle/`, whose uniformity is tested there, of the messages in an order of their own."""
    given, sources = list[list[bytes]](), list[Any]()

    def note(items: list[bytes], bits: Bits) -> None:
        given.append(list(items))
        sources.append(bits._source)
        sealed_messages.shuffle(items, bits)

    monkeypatch.setattr(mixes, "shuffle", note)
    study.report()
    study.release()
    assert len(given) == 2
    assert all(each == sorted(each) for each in given)  # so nothing of the order of arrival is left
    assert sources == [Bits()._source] * 2  # in place of the system's, which no seed of the shuffler is


def test_a_shuffler_that_draws_the_order_from_a_seed_is_found(
    study: ShuffledStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mixes, "Bits", lambda: seeded(1))
    with pytest.raises(AssertionError):
        test_the_order_is_drawn_from_the_systems_bits(study, monkeypatch)


# the law of what is released


def shuffled_protocol(channel: Any, **changes: Any) -> Protocol:
    """A study with a shuffler, of nobody in particular."""
    return small_protocol(
        channel=channel,
        reward={"window": "20 seconds", "grace": "5 seconds"} | changes,
        budget={"epsilon": 1, "delta": "1/1000"},
        operators={
            "leader": {"name": "Clinic", "key": "5b" * 32},
            "helper": {"name": "University", "key": "c0" * 32, "address": "https://shuffler.test"},
        },
    )


def release_once(protocol: Protocol, n: int, outcomes: list[float | None], bits: Bits) -> float:
    """The released total of a cohort of n, of devices with these outcomes: None for those that never report."""
    (offer,) = protocol.offers(n)
    channel = read_mixing_channel(Offer.from_text(offer.at(0).to_text()))
    total, messages, reports = 0, 0, 0
    for place, outcome in enumerate(outcomes):
        if outcome is not None:
            sent: Any = channel.randomize(outcome, offer.at(place), bits)
            bundle = channel.bundle(sent, offer.at(place), bits)
            total, messages, reports = total + sum(bundle), messages + len(bundle), reports + 1
    stated = {"study": "small", "protocol": protocol.digest, "cohort": 0, "digest": "", "offer": ""}
    said = MixStatement(**stated, n=n, reports=reports, messages=messages, entry=1)
    return decode_mix(protocol, total, said)


@pytest.mark.slow
def test_releases_have_the_law_of_the_channel() -> None:
    """Coins of all: Bin(N, 1/2) less N/2, as the lab draws it. False alarm: 1e-9."""
    protocol, bits = shuffled_protocol(CHANNEL), seeded(11)
    channel: Any = protocol.channel
    coins, outcomes = channel.coins(), [1.0, 0.0, 1.0, 1.0, 0.0]
    drawn = [2 * (release_once(protocol, 5, list(outcomes), bits) - 3) + coins for _ in range(3000)]
    assert all(each == int(each) and each % 2 == 0 for each in drawn)
    same_distribution(np.array([int(each) // 2 for each in drawn]), lambda z: binom.pmf(z, coins, 0.5))


@pytest.mark.slow
def test_releases_without_some_people_have_fewer_coins_and_the_default_in_the_open() -> None:
    """Bin(N', 1/2) less N'/2, of the N' coins of those who report; N' is at least what is needed. False alarm: 1e-9."""
    protocol, bits = shuffled_protocol(CHANNEL, default=0.25), seeded(12)
    channel: Any = protocol.channel
    outcomes: list[float | None] = [1.0, None, 1.0, 0.0, None]
    coins = sum(channel.tossed(place, 5) for place, each in enumerate(outcomes) if each is not None)
    assert channel.needed() <= coins < channel.coins()
    drawn = [2 * (release_once(protocol, 5, outcomes, bits) - 2 - 2 * 0.25) + coins for _ in range(3000)]
    same_distribution(np.array([int(each) // 2 for each in drawn]), lambda z: binom.pmf(z, coins, 0.5))


@pytest.mark.slow
def test_split_and_mix_releases_the_noisy_sum() -> None:
    """All n people add noise shares for ceil(n / 2): with half of the people that is discrete Laplace noise."""
    protocol, bits = shuffled_protocol(SPLIT | {"grid": 1}), seeded(13)
    channel: Any = protocol.channel
    assert channel.counted_on(6) == 3
    outcomes: list[float | None] = [1.0, None, 1.0, 0.0, None, None]
    drawn = [release_once(protocol, 6, outcomes, bits) - 2 for _ in range(2000)]
    law = DiscreteLaplace(channel.summed.release_noise(6).scale)
    pmf: Any = law.pmf
    same_distribution(np.array([int(each) for each in drawn]), pmf)


@pytest.mark.slow
def test_a_decoder_that_forgets_the_missing_coins_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Shuffled, "sum_messages", lambda self, total, messages, reports, offer: total)
    with pytest.raises(AssertionError):
        test_releases_without_some_people_have_fewer_coins_and_the_default_in_the_open()


# what is enough


@for_each("missing", range(5))
def test_nothing_is_mixed_unless_what_is_left_is_enough(missing: int) -> None:
    """With the coins of those who report a release is (epsilon, delta)-private, or there is none."""
    channel = Shuffled(1, "1/1000", honest="1/2")
    n = 5
    reports = n - missing
    coins = sum(channel.tossed(place, n) for place in range(reports))
    least, most = channel.bundle_sizes(reports, n)
    assert least <= coins + reports <= most
    assert channel.hides(coins + reports, reports, n) == (coins >= channel.needed())


@for_each("n", [1, 3, 7, 50, 400])
def test_the_sizes_of_bundles_are_those_of_places(n: int) -> None:
    channel = Shuffled(1, "1/1000", honest="1/2")
    sizes = sorted(channel.bundle_size(channel.offer(n).at(place)) for place in range(n))
    for reports in {0, 1, n // 2, n}:
        assert channel.bundle_sizes(reports, n) == (sum(sizes[:reports]), sum(sizes[n - reports :]))
    assert sum(sizes) == n + channel.coins()


# what a device accepts


@for_each(
    ("changes", "says"),
    [
        ({"needed": 5}, "coins"),
        ({"coins": 10**6}, "coins"),
        ({"epsilon": "1/1000"}, "epsilon and delta"),
        ({"delta": 0}, "epsilon and delta"),
        ({"coins": 1}, "coins"),
    ],
)
def test_a_device_refuses_an_offer_with_fewer_coins(changes: dict[str, Any], says: str) -> None:
    offer = Shuffled(1, "1/1000", honest="1/2").offer(9).at(3)
    assert read_mixing_channel(offer) == Shuffled(1, "1/1000", honest=read_mixing_channel(offer).honest)
    with pytest.raises(InvalidValue, match=says):
        read_mixing_channel(offer.also(**changes))


@for_each("changes", [{"eta": "1/10"}, {"messages": 2}, {"epsilon": 2}])
def test_a_device_refuses_an_offer_of_fewer_shares(changes: dict[str, Any]) -> None:
    offer = SplitAndMix(1, eta="1/1000000", honest="1/2", grid=5).offer(9).at(3)
    assert isinstance(read_mixing_channel(offer), SplitAndMix)
    with pytest.raises(InvalidValue):
        read_mixing_channel(offer.also(**changes))


def test_a_person_who_agreed_to_no_delta_is_in_no_such_study(study: ShuffledStudy) -> None:
    device = study.make_device("careful")
    object.__setattr__(device._agreed, "delta", 0)
    place = next(iter(study.places.values()))
    with pytest.raises(InvalidValue, match="delta of an offer"):
        device.join(place)
    device.close()
