"""A whole study whose people have devices of both kinds: pages of another site in Chromium, and Python.

It runs `python -m tests.service.mixed_devices TRUST PAGES PYTHONS ROUNDS`, TRUST one of local, two_servers, shares,
coins and secagg; shares and coins have a shuffler, and with secagg the devices of a cohort add up by themselves.
"""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from playwright.sync_api import Browser, Page

from maskedbandit.device import Agreed, Device
from tests.quick import QUICK
from tests.service.browser import chromium
from tests.service.live import Live, live
from tests.service.test_helper_processes import HELPS
from tests.service.test_javascript import wait_for_releases
from tests.service.test_two_operators_kills import make_operator, pair
from tests.service.web_pages import (
    PUBLIC,
    Site,
    build_package,
    load_page,
    make_device_key,
    serve_site,
    sign_in,
    somebody,
)

CORRUPTED = "1/10"
STUDY, EPSILON, DELTA = "headline", 200, "9/10"  # so little noise that each outcome is seen in the sum
MEANS, GONE = {"plain": 0.4, "bold": 0.6}, 0.05  # of the arms; people who never come back
SHARED = 5  # people who use one browser, each with a book of her own
HOUR = 3600  # seconds
PHASES = 5  # of a round, and one contact more, by which a device knows that it is over
TABLE: dict[str, Any] = {
    "name": STUDY,
    "arms": [{"name": name} for name in MEANS],
    "reward": {"window": "1 hour", "exposure": "1 hour", "grace": "1 hour"},
    "budget": {"epsilon": EPSILON},
    "signed_by": PUBLIC,
}
SHUFFLES = "--role", "shuffler", "--name", "University"


class Trust(NamedTuple):
    """A trust model: its channel, how the second operator is started, and how far a release may be from the sum."""

    channel: dict[str, Any]
    helps: tuple[str, ...] = ()
    noise: float = 0.5
    adds_up: bool = False  # the devices of a cohort do, so whoever is gone is not in the sum


TRUSTS = {
    "local": Trust({"name": "local", "epsilon": EPSILON}),
    "two_servers": Trust({"name": "two_servers", "epsilon": EPSILON, "backend": "prio3"}, HELPS),
    "shares": Trust(
        {"name": "split_and_mix", "epsilon": 60, "eta": f"1/{10**30}", "honest": "1/2", "backend": "shuffler"}, SHUFFLES
    ),
    "coins": Trust(  # two coins, of which one must come: they move a sum by one at most
        {"name": "shuffled", "epsilon": 60, "delta": DELTA, "honest": "1/2", "backend": "shuffler"}, SHUFFLES, 1
    ),
    "secagg": Trust(
        {
            "name": "distributed",
            "epsilon": EPSILON,
            "honest": "1/2",
            "backend": {"name": "secagg", "corrupted": CORRUPTED, "smallest": 3},
        },
        adds_up=True,
    ),
}
OPEN = """([name, url, key, ahead, epsilon, delta, operators, corrupted]) => {
  const agreed = new Agreed(epsilon, operators.length ? { operators, delta } : { corrupted });
  globalThis.device = new Device(name, url, agreed, { key, clock: () => Date.now() + 1000 * ahead });
}"""
COME = """async ([study, unit, token, outcome]) => {
  await device.consent(true);
  const { arm, why } = await device.assign(study, unit, token);
  if (why || !(await device.expose(study)) || !(await device.record(study, outcome[arm]))) throw new Error(why);
  return arm;
}"""
RETURN = """async () => {
  await device.contact();
  const [{ ended, sent }] = await device.show();
  return ended || (sent.at(-1)?.answer ?? "");
}"""


class MixedStudy(NamedTuple):
    """What came of a study."""

    pages: int  # people who came with a browser
    pythons: int  # people who came with a device in Python
    missing: int  # people who never came back
    told: list[dict[str, tuple[int, int]]]  # of each round: people of each arm, and what their devices reported in all
    released: list[dict[str, tuple[int, float]]]  # of each round the same, as it was released
    answer: str  # the arm whose last release has the highest mean


@dataclass
class Around:
    """What all devices of a study have around them."""

    server: Live
    turned: Path
    browser: Browser
    site: Site
    folder: Path
    stack: ExitStack
    operators: tuple[str, ...]
    key: str
    hours: int = 0
    tab: Page | None = None
    pages: int = 0

    @property
    def now(self) -> float:
        """The time by the turned clock."""
        return time.time() + HOUR * self.hours

    def take_tab(self) -> Page:
        """A tab of a browser that some people share; it stays open."""
        if self.tab is None or self.pages % SHARED == 0:
            self.tab = self.stack.enter_context(somebody(self.browser)).new_page()
        self.pages += 1
        return self.tab

    def turn_on(self) -> None:
        """An hour passes."""
        self.hours += 1
        new = self.turned.with_suffix(".new")
        new.write_text(str(self.hours))
        new.rename(self.turned)  # whoever reads the file reads all of it


class PersonOnPages:
    """Somebody with a book of her own in a browser, where she opens a page whenever she comes."""

    def __init__(self, around: Around, unit: str) -> None:
        self._around, self.unit, self._tab = around, unit, around.take_tab()

    def _ask(self, program: str, asked: Any = None) -> Any:
        around = self._around
        load_page(self._tab, f"{around.site.url}/")
        ahead, operators = HOUR * around.hours, list(around.operators)
        given = [self.unit, around.server.url, around.key, ahead, EPSILON, DELTA, operators, CORRUPTED]
        self._tab.evaluate(OPEN, given)
        return self._tab.evaluate(program, asked)

    def come(self, token: str, outcome: dict[str, int]) -> str:
        """She sees the arm, and has the outcome of it."""
        return str(self._ask(COME, [STUDY, self.unit, token, outcome]))

    def return_later(self) -> str:
        """Another page is opened after the window: why nothing more is sent, or what the service answered last."""
        return str(self._ask(RETURN))


class PersonOnPython:
    """Somebody with a device in Python, that is closed and opened again."""

    def __init__(self, around: Around, unit: str) -> None:
        self._around, self.unit = around, unit

    def _open(self) -> Device:
        around = self._around
        agreed = Agreed(EPSILON, around.operators or None, delta=DELTA, corrupted=CORRUPTED)
        return Device(
            around.folder / self.unit, around.server.url, agreed, key=around.key, clock=lambda: self._around.now
        )

    def come(self, token: str, outcome: dict[str, int]) -> str:
        """She sees the arm, and has the outcome of it."""
        device = self._open()
        device.consent(True)
        shown = device.assign(STUDY, self.unit, token)
        assert not shown.why, shown.why
        assert device.expose(STUDY)
        assert device.record(STUDY, outcome[shown.arm])
        device.close()
        return shown.arm

    def return_later(self) -> str:
        """It is opened after the window: why nothing more is sent, or what the service answered last."""
        device = self._open()
        device.contact()
        (shown,) = device.show()
        device.close()
        return shown.ended or "".join(each.answer for each in shown.sent[-1:])


Person = PersonOnPages | PersonOnPython


@contextmanager
def begin_study(trust: str, people: int, rounds: int, browser: Browser, site: Site, folder: Path) -> Iterator[Around]:
    """A running study of some trust, served by one process or by two, whose clocks are turned together."""
    turned, devices = folder / "turned", folder / "devices"
    devices.mkdir()
    command = ("-m", "tests.service.turned_server", str(turned), "serve")
    channel, helps, _, adds_up = TRUSTS[trust]
    table = TABLE | {"people": people, "channel": channel}
    if helps is SHUFFLES:
        table["budget"] = TABLE["budget"] | {"delta": DELTA}
    least = (
        people // rounds // len(MEANS)
    )  # so many of each arm come in each round, and no arm is left out before the end
    table["policy"] = {"name": "successive_elimination", "least": least, "base": 1.000001, "failure": 1e-6}
    with ExitStack() as stack:
        operators: tuple[str, ...] = ()
        if not helps:
            server = stack.enter_context(live(folder / "service", command=command))
        if adds_up:
            table["reward"] = {"window": "1 hour", "exposure": "1 hour"}
            table["rounds"] = {"wait": "1 hour"}
        elif not helps:
            table["reward"] = TABLE["reward"] | {"rule": "first"}  # each device reports once
        else:
            server, helper = (make_operator(folder / name, None, command) for name in ("leader", "helper"))
            for each in (server, helper):
                stack.callback(each.abandon)
            table["operators"] = pair(server, helper, helps)
            operators = table["operators"]["leader"]["key"], table["operators"]["helper"]["key"]
        server.start_study(table)
        key = make_device_key(server, STUDY, site.url)
        yield Around(server, turned, browser, site, devices, stack, operators, key)


def play_mixed_study(
    trust: str, pages: int, pythons: int, browser: Browser, site: Site, folder: Path, rounds: int, seed: int = 34
) -> MixedStudy:
    """From its first person to its answer, in rounds: people come, and have their outcomes, which the devices keep.

    After the window those who are not gone come back, and after the grace it is released what was reported.
    """
    random, kinds = Random(seed), [PersonOnPages] * pages + [PersonOnPython] * pythons
    random.shuffle(kinds)
    adds_up = TRUSTS[trust].adds_up
    missing, told, released = 0, list[dict[str, tuple[int, int]]](), list[dict[str, tuple[int, float]]]()
    with begin_study(trust, len(kinds), rounds, browser, site, folder) as around:
        for first in range(0, len(kinds), len(kinds) // rounds):
            sums, back = dict.fromkeys(MEANS, (0, 0)), list[Person]()
            for number, kind in enumerate(kinds[first : first + len(kinds) // rounds], first):
                person = kind(around, f"person {number}")
                outcome = {arm: int(random.random() < mean) for arm, mean in MEANS.items()}
                arm = person.come(sign_in(STUDY, person.unit, around.now), outcome)
                gone = random.random() < GONE  # then the outcome is nowhere but on the device
                people, total = sums[arm]
                sums[arm] = people + (not (gone and adds_up)), total + (0 if gone else outcome[arm])
                missing += gone
                if not gone:
                    back.append(person)
            around.turn_on()
            if adds_up:
                go_on_adding(around, back)
            for person in [] if adds_up else back:
                answer = person.return_later()
                assert answer == ("accepted" if trust == "local" else "stored"), answer
            around.turn_on()
            around.turn_on()
            told.append(sums)
            wait_for_releases(around.server, len(MEANS) * len(told), STUDY)
            found = around.server.ask("GET", f"/v1/studies/{STUDY}/releases", key="owner").json["releases"]
            released.append({each["arm"]: (each["n"], each["total"]) for each in found[-len(MEANS) :]})
        last = {arm: total / n for arm, (n, total) in released[-1].items()}
        return MixedStudy(pages, pythons, missing, told, released, max(last, key=lambda arm: last[arm]))


def go_on_adding(around: Around, back: list[Person]) -> None:
    """Devices come back until their round is over; before the last time those who are gone are waited for."""
    for waited in (False, True):
        if waited:
            around.turn_on()
        for _ in range(PHASES):
            back = [person for person in back if person.return_later() != "over"]
    assert not back, "a round is not over"


def check_releases(found: MixedStudy, noise: float) -> None:
    """Each release is what its devices reported, with so much noise; it has more with a chance below 1e-24."""
    for told, released in zip(found.told, found.released, strict=True):
        assert {arm: n for arm, (n, _) in told.items()} == {arm: n for arm, (n, _) in sorted(released.items())}
        for arm, (_, total) in told.items():
            assert abs(released[arm][1] - total) <= noise


def main(trust: str, pages: int, pythons: int, rounds: int) -> None:
    """Play a study, and say what came of it."""
    with TemporaryDirectory(dir=QUICK) as folder, chromium() as browser:
        build_package(Path(folder) / "site")
        with serve_site(Path(folder) / "site") as site:
            begun = time.monotonic()
            found = play_mixed_study(trust, pages, pythons, browser, site, Path(folder), rounds)
    print(json.dumps(found._asdict() | {"seconds": round(time.monotonic() - begun)}))
    check_releases(found, TRUSTS[trust].noise)
    print("every release is what the devices recorded, with the default for those who are gone")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
