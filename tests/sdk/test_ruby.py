"""The device in Ruby, which was written from a page: the known answers, and people of a live study of local trust."""

import time
from collections import Counter
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from maskedbandit.study.signatures import sign_person
from tests.sdk.ruby_device import RUBY, break_device, call_device, run_ruby
from tests.service.live import ROOT, Live, live
from tests.service.test_javascript import wait_for_releases

pytestmark = pytest.mark.slow
HOUR = 3_600_000


def check_known_answers(code: Path) -> None:
    assert run_ruby(code / "check_vectors.rb", ROOT / "vectors") == "samplers 33, offers 100, reports 78\n"


def test_the_known_answers_come_out_byte_for_byte() -> None:
    check_known_answers(RUBY)


OTHER_ANSWERS = [
    ("k.odd?", "k.even?"),
    ("x = below(t) until exp_coin(x, t)", ""),
    ("unless negative && x.zero?", "unless x.zero?"),
    ("while !flip && below(2) == 1", "if below(2) == 1"),
    ("<= (WORD**width) - n", "< (WORD**width) - n"),
    ("Integer.sqrt(p / q) + 1", "Integer.sqrt(p / q) + 2"),
    ("1/1_000_000r", "1/2_000_000r"),
    ("unless pure", ""),
    (".rjust(17)", ""),
    ("outcome.cap * outcome.most].min", "outcome.most].min"),
]


@pytest.mark.parametrize(("sound", "broken"), OTHER_ANSWERS)
def test_a_device_with_another_sampler_check_or_body_is_found(tmp_path: Path, sound: str, broken: str) -> None:
    with pytest.raises(AssertionError, match="the known answer is"):
        check_known_answers(break_device(tmp_path, sound, broken))


PEOPLE = 40
STUDY = {
    "name": "newsletter",
    "people": 1000,
    "policy": {"name": "successive_elimination", "least": PEOPLE // 2},
    "channel": {"name": "local", "epsilon": 200},  # so little noise that each outcome is seen in the sum
    "signed_by": Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key().public_bytes_raw().hex(),
    "arms": [{"name": "short"}, {"name": "long", "payload": {"subject": "Spring"}}],
    "reward": {"window": "1 hour", "grace": "30 minutes", "exposure": "1 hour", "rule": "first"},
    "budget": {"epsilon": 200},
}


def test_people_whose_devices_are_in_ruby_are_all_in_a_release(tmp_path: Path) -> None:
    turned = tmp_path / "turned"
    with live(tmp_path, command=("-m", "tests.service.turned_server", str(turned), "serve")) as server:
        check_all_are_in_a_release(server, tmp_path)
        turned.touch()
        wait_for_releases(server, 2)
        found = server.ask("GET", "/v1/studies/newsletter/releases", key="owner").json["releases"]
        released = {each["arm"]: (each["n"], each["total"]) for each in found}
        assert released == {"short": (PEOPLE // 2, PEOPLE // 2), "long": (PEOPLE // 2, 0)}


def check_all_are_in_a_release(server: Live, folder: Path) -> None:
    """Everybody comes, whoever sees the short one opens it, and all devices report once their windows are over."""
    server.start_study(STUDY)
    key = server.ask("POST", "/v1/keys", {"role": "device", "study": "newsletter"}, "owner").json["key"]
    now, arms = time.time_ns() // 1_000_000, Counter[str]()
    for i in range(PEOPLE):
        token = sign_person(bytes(32).hex(), "newsletter", f"person {i}", now // 1000 + 3600)
        given = (RUBY, folder / f"device{i}", server.url, key)
        come = [[now, "consent", True], [now, "assign", "newsletter", f"person {i}", token]]
        arm = call_device(*given, *come, [now, "expose", "newsletter"])[1]["arm"]
        arms[arm] += 1
        record = [[now + 1, "record", "newsletter", 1]] if arm == "short" else []
        contacts = [[now + HOUR + more, "contact"] for more in (0, 1)]
        (study,) = call_device(*given, *record, *contacts, [now, "show"])[-1]
        assert [(each["answer"]) for each in study["reports"]] == ["accepted"]
        assert study["state"] == "settled"
    assert arms == {"short": PEOPLE // 2, "long": PEOPLE // 2}
