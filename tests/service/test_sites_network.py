"""Sites behind a network that delays, cuts, swallows and repeats, with clocks that differ: a whole study to its answer.

Nothing is lost, doubled, left out of a sum, or drawn again. In which order the sites are served is up to threads: what
is asserted holds in every order.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler
from itertools import count
from pathlib import Path
from random import Random
from threading import Lock
from typing import Any

import pytest

from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.store.requests import Reported
from maskedbandit.store.sites.people import read_rewards
from maskedbandit.store.sites.study import SiteStudy
from tests.service.inside import Inside
from tests.service.rough_proxy import FATES, RoughProxy, rough_proxy
from tests.service.sites_inside import SiteInside, SitesInside, wait_for_links
from tests.service.sites_journal import hold_against_sites
from tests.store.small_study import Clock
from tests.threaded_server import serve_in_thread

SITES, PEOPLE, HOUR = 4, 64, 3_600_000
SMOOTH = 0.4  # of the requests
MEANS = {"a": 0.1, "b": 0.9}
TABLE: dict[str, Any] = {
    "people": PEOPLE,
    "policy": "pooled_elimination",
    "channel": {
        "name": "distributed",
        "epsilon": 1,
        "honest": "1/2",
        "backend": {"name": "sites", "colluding": 1, "attempts": 3},
    },
    "budget": {"epsilon": 3},
    "reward": {"window": "20 seconds", "exposure": "1 hour"},
}


class ClockOfSite(Clock):
    """The clock of the coordinator, and so many milliseconds more."""

    def __init__(self, clock: Clock, ahead: int) -> None:
        self.clock, self.ahead = clock, ahead

    def __call__(self) -> int:
        return self.clock.now + self.ahead


class SitesApart:
    """A coordinator that is reached by the network alone, and its sites."""

    def __init__(self, folder: Path, seed: int, ahead: tuple[int, ...], stack: ExitStack) -> None:
        self.lock, self.stack, self.seed = Lock(), stack, seed
        self.random, self.told, self.draws = Random(seed), dict[str, float](), 0
        clock = Clock()
        clock.now = 1000 * HOUR
        clocks = [ClockOfSite(clock, each) for each in ahead]
        self.all = SitesInside(folder, SITES, clocks, self.connect, clock=clock, **TABLE)
        stack.callback(self.all.close)
        self.threads = stack.enter_context(ThreadPoolExecutor(SITES))

    def connect(self, coordinator: Inside) -> str:
        """Serve the coordinator behind a proxy, which is smooth until all sites have entered: its address."""
        apart = self

        class Answers(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"] or 0))
                if len(body) < int(self.headers["content-length"] or 0):
                    return  # it was cut: a server answers nothing
                with apart.lock:
                    found = coordinator.ask(self.command, self.path, body, None, [*self.headers.items()])
                self.send_response(found.status)
                for name, value in found.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(found.body)

            do_GET = do_POST

            def log_message(self, *said: Any) -> None:
                pass

        url = self.stack.enter_context(serve_in_thread(Answers))
        self.proxy: RoughProxy = self.stack.enter_context(rough_proxy(int(url.rpartition(":")[2]), self.seed))
        return self.proxy.url

    def come(self, i: int) -> None:
        """A person comes to a site, again and again until there is an answer, sees the arm, and has an outcome."""
        at, unit = self.all.sites[i % SITES], f"person {i}"
        given = insist(at, "assign", {"unit": unit}).json
        if given["ticket"] is None:
            return
        insist(at, "expose", {"ticket": given["ticket"]})
        value = float(self.random.random() < MEANS[given["arm"]])
        assert insist(at, "report", {"ticket": given["ticket"], "value": value}).status == 200
        assert self.told.setdefault(given["ticket"], value) == value

    def turn(self) -> None:
        """All clocks go on, and all sites go to the coordinator at the same time."""
        with self.lock:
            self.all.coordinator.tick(1)

        def exchange(at: SiteInside) -> None:
            at.run(at.host._round())  # its clock is its own
            at.run(wait_for_links(at.host))

        list(self.threads.map(exchange, self.all.sites))

    @property
    def answer(self) -> int | None:
        """That of the study."""
        writer: Any = self.all.coordinator.host.held["small"]
        found: int | None = writer.study.answer
        return found


def insist(at: SiteInside, verb: str, body: dict[str, Any]) -> Any:
    """The answer of a site, asked until its coordinator is not away."""
    for _ in range(100):
        found = at.study(verb, body)
        if found.status != 503:
            return found
    raise AssertionError("the coordinator is always away")


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


def play(
    folder: Path, seed: int, stack: ExitStack, patch: pytest.MonkeyPatch, ahead: tuple[int, ...] = (0,) * SITES
) -> SitesApart:
    """A study to its answer, without noise; draws are counted."""
    apart = SitesApart(folder, seed, ahead, stack)
    apart.proxy.smooth = SMOOTH

    def draw(*given: Any) -> int:
        apart.draws += 1
        return 0

    patch.setattr(DiscreteLaplace, "sum_of_shares", draw)
    for i in range(2 * PEOPLE):
        apart.come(i)
    apart.all.clock.now += 21_000
    for _ in range(400):
        apart.turn()
        if apart.answer is not None:
            break
    releases = apart.all.releases()
    assert apart.answer == 1
    stored, joined = hold_against_sites(apart.told, releases, apart.all.addresses)
    assert stored.keys() == apart.told.keys(), "an outcome is lost"
    assert joined == apart.draws == SITES * len(releases), "no attempt fails, and for each noise is drawn once"
    assert sum(each["n"] for each in releases) == len(apart.told) == PEOPLE
    return apart


@pytest.mark.slow
@pytest.mark.parametrize("ahead", [(0, 0, 0, 0), (0, 5 * HOUR, -7 * HOUR, 300)], ids=["right", "hours apart"])
def test_a_study_behind_a_rough_network(
    tmp_path: Path, ahead: tuple[int, ...], stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With clocks that agree, and with some that are hours ahead or behind."""
    apart = play(tmp_path, 1, stack, monkeypatch, ahead)
    assert apart.proxy.fates.keys() == set(FATES)


def lose_outcomes(patch: pytest.MonkeyPatch) -> str:
    """A site that takes an outcome before it has stored it, and then does not."""
    real, told = SiteStudy.operations["report"], count()

    def take(*given: Any) -> Any:
        return Reported(False) if next(told) % 9 == 0 else real(*given)

    patch.setitem(SiteStudy.operations, "report", take)
    return "is lost"


def leave_somebody_out(patch: pytest.MonkeyPatch) -> str:
    """A site that adds up all outcomes but the last one."""
    real = read_rewards

    def read(*given: Any) -> Any:
        found = real(*given)
        return [*found[:-1], []] if found else found

    patch.setattr("maskedbandit.store.sites.rounds.read_rewards", read)
    return "is doubled, or left out"


@pytest.mark.slow
@pytest.mark.parametrize("twin", [lose_outcomes, leave_somebody_out])
def test_a_site_that_loses_outcomes_is_found(
    tmp_path: Path, twin: Any, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.service.test_sites_network.SMOOTH", 1)
    says = twin(monkeypatch)
    with pytest.raises(AssertionError, match=says):
        play(tmp_path, 1, stack, monkeypatch)
