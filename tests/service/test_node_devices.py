"""What devices of the TypeScript package send has the law of the lab's channel, is what is released, and is audited.

Twins that report when something happens, or send a second draw, are in sdk/typescript/test/web/two_worlds.test.ts and
test_web_two_worlds.py; samplers that round are in sdk/typescript/test/core/laws.test.ts, too.
"""

import json
import secrets
import time
from base64 import urlsafe_b64decode
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import maskedbandit.reports.audit.services as audit_service
from maskedbandit.channels.local import Local
from maskedbandit.channels.mixing_channel import MixingChannel
from maskedbandit.channels.offers import Offer
from maskedbandit.channels.shuffled import Shuffled
from maskedbandit.channels.split_and_mix import SplitAndMix
from maskedbandit.client.local_noise import NoisyReport
from maskedbandit.reports.audit.audit import AuditPart
from maskedbandit.secagg.prio3 import HELPER, LEADER
from maskedbandit.shuffle.envelopes import BundleTerms, name_person, open_envelope, open_messages
from maskedbandit.study.protocol import Protocol
from tests.device.fake_leader import PINNED, PRIVATE, make_place
from tests.service.live import Live
from tests.service.node_devices import NodeDevices, build_devices, run_devices
from tests.service.test_audit import RESPONSE, audit
from tests.service.test_javascript import wait_for_releases
from tests.service.web_pages import PUBLIC, make_device_key, sign_in
from tests.statistics import same_distribution, shows_no_other

pytestmark = pytest.mark.slow
STUDY, EPSILON, PEOPLE = "headline", 1, 250  # who ask 750 times; a service takes 1000 at once from one address
TABLE: dict[str, Any] = {
    "name": STUDY,
    "people": PEOPLE,
    "channel": {"name": "local", "epsilon": EPSILON},
    "policy": {"name": "successive_elimination", "least": PEOPLE // 2},
    "arms": [{"name": "plain"}, {"name": "bold"}],
    "reward": {"window": "1 hour", "exposure": "1 hour", "grace": "1 hour", "rule": "first"},
    "budget": {"epsilon": EPSILON},
    "signed_by": PUBLIC,
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "package"
    build_devices(folder)
    return folder


@pytest.fixture
def server(turned_server: Live) -> Live:
    turned_server.start_study(TABLE)
    return turned_server


def play(built: Path, server: Live, turned: Path, twin: str = "") -> list[int]:
    """What everybody's device sent, once it is shown that the releases are the sums of it."""
    units = [f"person {i}" for i in range(PEOPLE)]
    people = [(unit, sign_in(STUDY, unit, time.time())) for unit in units]
    given = {"url": server.url, "key": make_device_key(server, STUDY), "epsilon": EPSILON}
    sums, values = defaultdict[str, int](int), list[int]()
    with run_devices(built, twin) as devices:
        arms = devices.ask("come", study=STUDY, people=people, value=1, **given)
        turned.write_text("1")
        for arm, sent in zip(arms, devices.ask("return", people=people, ahead=3600, **given), strict=True):
            ((says, answer),) = sent
            assert answer == "accepted"
            sums[arm] += says
            values.append(says)
    turned.write_text("3")
    wait_for_releases(server, 2, STUDY)
    found = server.ask("GET", f"/v1/studies/{STUDY}/releases", key="owner").json["releases"]
    assert {each["arm"]: each["total"] for each in found} == sums
    return values


def find_probabilities(values: Any) -> Any:
    """Those of what the lab's channel makes of an outcome of 1: the noise that it states."""
    return Local(EPSILON).release_noise(PEOPLE).pmf(values - 1)


def test_reports_have_the_law_of_the_lab_and_releases_are_their_sums(built: Path, server: Live, turned: Path) -> None:
    """With other bits it fails with a chance of at most 1e-9."""
    same_distribution(np.array(play(built, server, turned)), find_probabilities)


@pytest.mark.parametrize("twin", ["rounds", "draws twice"])
def test_devices_that_draw_otherwise_are_found(built: Path, server: Live, turned: Path, twin: str) -> None:
    """Each in all of 1000 draws of its noise."""
    values = play(built, server, turned, twin)
    with pytest.raises(AssertionError, match="another distribution"):
        same_distribution(np.array(values), find_probabilities)


# --- with a shuffler ------------------------------------------------------------------------------------------------

TOSSES, SUMS, DELTA = 100, 160, "1/100"
COINS = Shuffled(EPSILON, DELTA)
SHARES = SplitAndMix(EPSILON, eta="1/1000")
FIVE = COINS.offer(3).at(0)  # of sixteen coins


def send_bundle(devices: NodeDevices, channel: MixingChannel, offer: Offer) -> list[int]:
    """The messages of a device with an outcome of 1, as a service reads what a shuffler has opened."""
    ticket = secrets.token_hex(8)
    place = make_place(offer=offer.to_text(), ticket=ticket, terms={"protocol": secrets.token_hex(32), "cohort": 3})
    agreed = {"operators": list(PINNED), "delta": DELTA}
    given = {"url": "http://service.test", "key": "mb_device_1_2", "epsilon": EPSILON, "agreed": agreed}
    _, body = devices.ask("report", place=place, value=1, **given)
    protocol, at = bytes.fromhex(place["terms"]["protocol"]), offer.position or 0
    terms, below = BundleTerms(protocol, 3, offer.digest, at, name_person(ticket)), channel.below(offer)
    sealed = urlsafe_b64decode(json.loads(body)["sealed"])
    bundle = open_envelope(sealed, channel.bundle_size(offer), below, terms, PRIVATE[HELPER])
    return open_messages(bundle, below, terms.of_cohort, PRIVATE[LEADER])


def check_coins(built: Path, twin: str = "") -> None:
    """A one, and the ones of five coins."""
    with run_devices(built, twin) as devices:
        sent = [sum(send_bundle(devices, COINS, FIVE)) for _ in range(TOSSES)]
    same_distribution(np.array(sent), lambda ones: binom.pmf(ones - 1, 5, 0.5))


def check_shares(built: Path, twin: str = "") -> None:
    """The messages of two people, whose noise shares make the noise that the lab draws, and not a fourth of it."""
    offer, sums = SHARES.offer(2), list[int]()
    with run_devices(built, twin) as devices:
        for _ in range(SUMS):
            total = sum(sum(send_bundle(devices, SHARES, offer.at(place))) for place in range(2))
            sums.append((total + offer.modulus // 2) % offer.modulus - offer.modulus // 2)
    noise, drawn = SHARES.summed.release_noise(2), np.array(sums)
    same_distribution(drawn, lambda values: noise.pmf(values - 2))
    shows_no_other(noise.pmf(drawn - 2), noise.pmf(drawn - 2, 1 / 4))


@pytest.mark.parametrize("check", [check_coins, check_shares])
def test_bundles_have_the_law_of_the_lab(built: Path, check: Callable[..., None]) -> None:
    """With other bits each fails with a chance of at most 2e-9."""
    check(built)


@pytest.mark.parametrize(("check", "twin"), [(check_coins, "tosses one coin"), (check_shares, "shares too little")])
def test_bundles_with_less_noise_are_found(built: Path, check: Callable[..., None], twin: str) -> None:
    """Each in more than 99 of 100 tries."""
    with pytest.raises(AssertionError, match="another distribution"):
        check(built, twin)


# --- the audit ------------------------------------------------------------------------------------------------------

SAMPLES = 1000
EXPOSED, HOUR = 1_764_000_000_000, 3_600_000  # milliseconds


def make_reports(devices: NodeDevices) -> Callable[..., NoisyReport]:
    """What the audit asks for the report of a person: each has a device, place and book of her own."""

    def add_noise(channel: Any, offers: str, value: float, metric: str) -> NoisyReport:
        place = {"study": "audited", "arm": "a", "ticket": secrets.token_hex(8), "again": False, "exposed": EXPOSED}
        place |= {"offer": offers, "terms": {"protocol": secrets.token_hex(32)}, "window": HOUR, "grace": HOUR}
        place |= {"least": 0, "most": 1, "default": 0}
        given = {"url": "http://service.test", "key": "mb_device_1_2", "epsilon": str(channel.epsilon)}
        (body,) = devices.ask("report", place=place, value=value, **given)
        return NoisyReport(float(json.loads(body)["value"]), channel.epsilon)

    return add_noise


def audit_devices(
    built: Path, patch: pytest.MonkeyPatch, samples: int, twin: str = "", epsilon: int = EPSILON
) -> AuditPart:
    """The audit of a service whose reports these devices make; it is wrong with a chance of at most 1e-9."""
    changes = {"channel": {"name": "response", "epsilon": epsilon}, "budget": {"epsilon": epsilon}}
    with run_devices(built, twin) as devices:
        patch.setattr(audit_service, "add_report_noise", make_reports(devices))
        return audit(Protocol.from_table(RESPONSE.table | changes), samples)


def test_an_audit_sees_that_the_package_keeps_its_promise(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many samples as the first ones show the twin; of the others the bound is 1.1, and its deviation .13."""
    assert not audit_devices(built, monkeypatch, SAMPLES).violation
    assert 0.1 < audit_devices(built, monkeypatch, 500, epsilon=3).lower_bound <= 3


def test_a_package_that_rounds_how_often_it_flips_is_found(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is 1.5, where 1 is promised, and its deviation .13."""
    assert audit_devices(built, monkeypatch, SAMPLES, "rounds flips").violation
