"""What coalitions of the sites of a study cost, whatever part of a cohort each site has within its share.

A site has at most `share` of the people of a cohort, so a coalition has at most the sum of its shares. As long as that
leaves the people whose noise is counted on, it costs nobody at another site more than is promised
(privacy/sites.py). Of the larger ones those of the heaviest sites cost most.
"""

from fractions import Fraction
from math import lcm
from typing import Any, NamedTuple

from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.sites import SitePeople
from maskedbandit.study.protocol import Protocol

USUAL_COHORT, ODDEST = 1000, 10_000  # people


class Coalition(NamedTuple):
    """The heaviest sites, if they collude with the coordinator or are lost."""

    sites: tuple[int, ...]
    left: int  # people at the others, at least, if there are any
    loss: Loss  # of these people, at most


def count_site_places(protocol: Protocol, n: int) -> dict[int, int]:
    """How many places of a cohort of n the people of each site may have, by its number."""
    channel: Any = protocol.channel
    listed = protocol.sites.sites if protocol.sites else ()
    places = channel.backend.places(n, channel.counted_on(n))
    return {site.number: many for site, many in zip(listed, places, strict=True)}


def bound_site_people(protocol: Protocol, n: int) -> SitePeople:
    """The most people of a cohort of n at each site. Coalitions that these allow are allowed whatever the sizes are.

    They are more than n together, so that of these too as many are spare as of the cohort, and no more.
    """
    channel: Any = protocol.channel
    places = tuple(count_site_places(protocol, n).values())
    spare = n - channel.counted_on(n)
    return SitePeople(places, Fraction(sum(places) - spare, sum(places)))


def find_usual_cohort(protocol: Protocol) -> int:
    """A number of people, a thousand or little more, of which all shares are whole numbers, if there is one."""
    channel: Any = protocol.channel
    assert protocol.sites is not None
    shares = [each.share for each in protocol.sites.sites]
    whole = lcm(*(each.denominator for each in (*shares, Fraction(channel.honest))))
    return USUAL_COHORT + -USUAL_COHORT % whole if whole <= ODDEST else USUAL_COHORT


def list_heaviest(protocol: Protocol, n: int) -> list[Coalition]:
    """What the heaviest sites cost people at other sites in a cohort of n, from none of them to all but a person."""
    places = tuple(count_site_places(protocol, n).values())
    order = sorted(range(len(places)), key=lambda site: -places[site])
    found = []
    for many in range(len(places)):
        sites = tuple(order[:many])
        left = max(n - sum(places[site] for site in sites), 1)
        found.append(Coalition(sites, left, price_left(protocol, n, left)))
        if left == 1:
            break
    return found


def price_left(protocol: Protocol, n: int, left: int) -> Loss:
    """What the release of a cohort of n costs if so many people's noise shares are left."""
    channels: list[Any] = [outcome.channel for outcome in protocol.outcomes]
    first, *further = [each.loss_left(n, left) for each in channels]
    return sum(further, first)
