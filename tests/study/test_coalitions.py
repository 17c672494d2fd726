"""What coalitions of sites cost by their shares alone: at least as much as by the true sizes, whatever these are."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations
from math import ceil
from random import Random
from typing import Any

import pytest

from maskedbandit.backends.sites import Sites
from maskedbandit.channels.distributed import Distributed
from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.sites import SitePeople
from maskedbandit.statement.coalitions import say_coalitions
from maskedbandit.study.coalitions import bound_site_people, count_site_places, find_usual_cohort, list_heaviest
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.site_stages import SiteStage
from tests.for_each import for_each

SHARES = ("1/2", "1/3", "1/4", "1/4", "1/12")


def make_protocol(honest: str = "2/5", colluding: int = 0, shares: tuple[str, ...] = SHARES) -> Protocol:
    """A study of sites with these shares."""
    backend = {"name": "sites", "colluding": colluding}
    listed = [
        {"name": f"site {number}", "key": f"{number:064x}", "share": share} for number, share in enumerate(shares)
    ]
    return Protocol.from_table(
        {
            "name": "trial",
            "people": 4000,
            "policy": {"name": "successive_elimination", "least": 100},
            "channel": {"name": "distributed", "epsilon": 1, "honest": honest, "backend": backend},
            "arms": [{"name": "plain"}, {"name": "bold"}],
            "budget": {"epsilon": 1},
            "sites": {"list": listed},
        }
    )


def draw_sizes(protocol: Protocol, n: int, random: Random) -> tuple[int, ...]:
    """People of n at each site, none more than its share allows: some sites are full, and others may be empty."""
    left, sizes = n, dict.fromkeys(range(len(SHARES)), 0)
    places = count_site_places(protocol, n)
    for site in random.sample(range(len(SHARES)), len(SHARES)):
        sizes[site] = min(places[site], left)
        left -= sizes[site]
    assert left == 0
    return tuple(sizes[site] for site in range(len(SHARES)))


def list_coalitions() -> Iterator[tuple[int, ...]]:
    """All of them but that of all sites."""
    for many in range(len(SHARES)):
        yield from combinations(range(len(SHARES)), many)


def check_allowed(protocol: Protocol, bound: Callable[[Protocol, int], SitePeople]) -> None:
    """Whatever coalition is allowed by shares is allowed by the sizes."""
    random, channel, looked = Random(3), Any, 0
    channel = protocol.channel
    for n in (12, 100, 997):
        for _ in range(20):
            sizes = draw_sizes(protocol, n, random)
            true = SitePeople(sizes, honest=channel.honest)
            allowed = bound(protocol, n)
            for coalition in list_coalitions():
                if allowed.allows(coalition):
                    assert true.allows(coalition), (n, sizes, coalition)
                    looked += 1
    assert looked > 100


@for_each("honest", ["2/5", "1/2", "2/3"])
def test_what_is_allowed_by_shares_is_allowed_by_sizes(honest: str) -> None:
    check_allowed(make_protocol(honest), bound_site_people)


def test_shares_that_are_taken_for_parts_are_caught() -> None:
    """A share is the most that a site may have: as parts of a whole they would be less."""
    channel: Any = make_protocol().channel
    with pytest.raises(AssertionError):
        check_allowed(make_protocol(), lambda protocol, n: SitePeople(count_site_places(protocol, n), channel.honest))


def test_no_coalition_of_as_many_sites_costs_more_than_the_heaviest() -> None:
    protocol, random, n = make_protocol(), Random(4), 100
    channel: Any = protocol.channel
    worst = {len(each.sites): each.loss for each in list_heaviest(protocol, n)}
    for _ in range(20):
        sizes = draw_sizes(protocol, n, random)
        for coalition in list_coalitions():
            left = n - sum(sizes[site] for site in coalition)
            if left and len(coalition) in worst:
                assert str(channel.loss_left(n, left) | worst[len(coalition)]) == str(worst[len(coalition)])


def test_a_usual_cohort_has_whole_shares() -> None:
    assert find_usual_cohort(make_protocol()) == 1020
    assert find_usual_cohort(make_protocol(shares=("0.3501", "0.3503", "0.3507", "0.3"))) == 10_000
    assert find_usual_cohort(make_protocol(shares=("1/331", "1/2", "1/2", "1/2", "1/997"))) == 1000


@for_each(
    ("honest", "colluding", "said"),
    [
        ("2/5", 0, "up to 612 of 1 020 people in a cohort, so any 1 site, may tell whoever runs the study all"),
        ("2/5", 1, "That holds even if 1 site told whoever runs the study all that it knows. As long as"),
        (1, 0, "All sites have to be honest"),
        ("2/5", 0, "If site 0 and site 1 did, a person elsewhere could lose ε = 1.858."),
    ],
)
def test_the_statement_says_which_sites_may_collude(honest: Any, colluding: int, said: str) -> None:
    text = say_coalitions(make_protocol(honest, colluding)).replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert said in text


def test_the_loss_that_is_said_is_that_of_the_people_who_are_left() -> None:
    """Of 1 020 people 510 and 340 are at the two heaviest sites, so 170 are left, where 408 are counted on."""
    assert Fraction(170, 408) < 1
    loss = Distributed(epsilon=1, honest="2/5").loss_left(1020, 170)
    assert f"If site 0 and site 1 did, a person elsewhere could lose {loss}." in say_coalitions(make_protocol())


EXACT = {  # shares, sites that may collude, and `honest`, which is what all shares but the heaviest leave
    "the one of docs/sites.md": (("1/2", "1/2", "1/4", "1/4"), 1, "1/2"),
    "of one size": (("1/3",) * 4, 1, "2/3"),
    "two of eight": (("1/4",) * 8, 2, "1/2"),
    "a small one": (("1/2", "1/4", "1/4", "1/8", "1/100"), 1, "1/2"),
    "two that are unequal": (("2/5", "1/3", "1/3", "1/3", "1/7"), 2, "4/15"),
}


def check_all_sizes(what: str) -> None:
    """No cohort would be refused when a person comes, and none of these could not be filled."""
    shares, colluding, honest = EXACT[what]
    protocol = make_protocol(honest, colluding, shares)
    channel: Any = protocol.channel
    assert Fraction(honest) == 1 - sum(sorted(map(Fraction, shares))[-colluding:])
    for n in range(8, 1000):
        places = count_site_places(protocol, n)
        assert sum(places.values()) >= n
        assert all(abs(places[site] - Fraction(share) * n) < 1 for site, share in enumerate(shares))
        channel.check_size(n)


@for_each("what", list(EXACT))
def test_whatever_size_a_cohort_has_enough_are_honest(what: str) -> None:
    """Places are whole, so shares are rounded."""
    check_all_sizes(what)


def test_shares_that_are_rounded_up_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as all shares were: then the protocol is refused, of which every second cohort would be."""
    monkeypatch.setattr(Sites, "places", lambda self, n, _: tuple(ceil(Fraction(share) * n) for share in self.shares))
    with pytest.raises(InvalidValue, match="honest people counted on in a cohort of 101"):
        check_all_sizes("the one of docs/sites.md")


@for_each(
    ("shares", "honest", "n"),
    [(("1/3",) * 3, "2/3", 4000), (("1/4",) * 4, "3/4", 101), (("1/3",) * 3, "665/1000", 100)],
)
def test_shares_that_fit_some_cohorts_alone(shares: tuple[str, ...], honest: str, n: int) -> None:
    """Of 4000 people at three sites one has 1334: the others are less than two thirds. That is said at once."""
    with pytest.raises(InvalidValue, match=f"honest people counted on in a cohort of {n}"):
        make_protocol(honest, 1, shares)
    make_protocol("65/100", 1, shares)


def test_the_statement_says_of_which_list_it_speaks() -> None:
    """A cohort before a change had other sites, or other shares, than those that are named."""
    protocol, said = make_protocol(), "list of sites from cohort 4 on; earlier ones had theirs"
    assert protocol.sites is not None
    assert said not in say_coalitions(protocol)
    assert said in say_coalitions(protocol.among(SiteStage(4, protocol.sites, {}, "5b" * 32)))
