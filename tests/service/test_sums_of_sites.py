"""The coordinator's page of a study of sites: whom a round waits for, and how many people may still be lost."""

import json
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from random import Random

import pytest

from maskedbandit.secagg.kept_round import RoundTerms
from maskedbandit.service.views.counts import CohortStanding
from maskedbandit.service.views.sums_of_sites import DueSum, describe_sum
from maskedbandit.store.book.book import Book
from maskedbandit.store.book.entries import Started
from maskedbandit.store.held_rounds import make_plan
from maskedbandit.study.protocol import Protocol
from tests.for_each import for_each
from tests.service.all_site_pages import make_keys
from tests.service.inside import TABLE
from tests.service.sites_inside import SitesInside
from tests.service.test_page import Page, find_unsaid
from tests.service.test_site_pages import look, sign_in

LOSING = {"name": "distributed", "epsilon": 1, "honest": "1/2", "backend": {"name": "sites", "lost": 1}}


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[SitesInside]:
    made = SitesInside(tmp_path, 4, channel=LOSING)
    yield made
    made.close()


def read_page(sites: SitesInside) -> str:
    """The words of the coordinator's page, in the part of sites."""
    found = look(sites.coordinator, sign_in(sites.coordinator, "owner"))
    assert found.status == 200
    text = found.body.decode()
    assert find_unsaid(text) == []
    return Page(text).text.partition("Each site keeps the outcomes")[2].partition("Privacy")[0]


@pytest.mark.slow
def test_a_site_that_is_lost(sites: SitesInside) -> None:
    assert "of 1/2 of the people; up to 1 site may be lost." in read_page(sites)
    sites.fill()
    assert "not begun––4 people of 1 site" in read_page(sites)
    sites.wires[3].cut = True
    sites.clock.now += 21_000
    sites.go_round(away=(3,), rounds=2)
    waiting = read_page(sites)
    assert waiting.count("keys, 1 of 5") == 2
    assert waiting.count("site34 people of 1 site") == 2, "it waits for that site, and 8 - 4 people may be lost"
    sites.clock.now += 3_600_000
    sites.go_round(away=(3,), rounds=2)
    assert "masked values, 3 of 5" in read_page(sites)
    assert "no site" in read_page(sites)
    sites.go_round(away=(3,))
    assert len(sites.releases()) == 2
    assert "Sums that are due" not in read_page(sites)
    assert "2 of 2" in read_page(sites), "sums in which the site is missing"


def make_book(colluding: int) -> Book:
    """A study of six sites, of which some may collude."""
    keys = make_keys(tuple("abcdef"))
    listed = [{"name": name, "key": key.fingerprint, "share": "1"} for name, key in zip("abcdef", keys, strict=True)]
    backend = {"name": "sites", "colluding": colluding, "lost": 1}
    channel = {"name": "distributed", "epsilon": 1, "honest": "1/5", "backend": backend}
    protocol = Protocol.from_text(json.dumps(TABLE | {"channel": channel, "sites": {"list": listed}}))
    started = Started(number=0, hash="0" * 64, at=0, protocol=protocol.digest, seed="", sites=tuple(keys))
    return Book("small", protocol, (started,))


def check_spare(colluding: int, find_spare: Callable[[DueSum, list[int]], int]) -> None:
    """Sites with at most so many people may be lost, whichever they are, by the plan on which all sites agree."""
    book, random, looked = make_book(colluding), Random(colluding), 0
    for _ in range(30):
        weights = [random.randrange(1, 40) for _ in "abcdef"]
        n = sum(weights)
        standing = CohortStanding(0, 0, n, n, n, "waiting")
        spare = find_spare(describe_sum(book, standing, dict(enumerate(weights)), DueSum(0), {}), weights)
        plan = make_plan(book.protocol, RoundTerms(0, 1, n, tuple(weights), bytes(32)))
        for many in range(1, 6):
            for lost in combinations(range(6), many):
                if sum(weights[site] for site in lost) <= spare:
                    assert plan.count_people([site for site in range(6) if site not in lost]) >= plan.people
                    looked += 1
    assert looked > 50


@for_each("colluding", [0, 1])
def test_so_many_people_may_be_lost(colluding: int) -> None:
    check_spare(colluding, lambda due, weights: due.spare or 0)


def test_a_margin_that_forgets_who_colludes_is_caught() -> None:
    with pytest.raises(AssertionError):
        check_spare(1, lambda due, weights: (due.spare or 0) + max(weights))


def test_what_is_said_of_a_round() -> None:
    """A site that left is not waited for, and its people are lost; once values are in, it is settled who is there."""
    book, weights = make_book(0), dict.fromkeys(range(6), 10)
    standing = CohortStanding(0, 0, 60, 60, 60, "waiting")
    answered = {(0, site): 64 for site in (0, 1, 2)} | {(0, 5): 0}
    found = describe_sum(book, standing, weights, DueSum(0, 1, 0, 1000), answered)
    assert (found.waits_for, found.spare, found.spare_sites) == ((3, 4), 50 - 12, 0)
    voting = {(phase, site): 64 for phase in range(3) for site in range(5)} | {(3, 0): 64}
    found = describe_sum(book, standing, weights, DueSum(0, 1, 3, 1000), voting)
    assert (found.waits_for, found.spare) == ((1, 2, 3, 4), None)
