"""Planning a study of sites: what secrecy costs it in people, and what coalitions of its sites would learn.

    people = those of all arms together, until an estimated difference is three standard errors: about power 0.8 at
             level 0.03, for outcomes of 0 or 1, of which the noise of a release is worth so many draws

Beside the sum of all sites stand one trial that pools all outcomes, and a trial at each site alone.
"""

from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any, NamedTuple

from maskedbandit.channels.central import Central
from maskedbandit.channels.channel import Channel
from maskedbandit.errors import InvalidValue
from maskedbandit.noise_bounds import deviation
from maskedbandit.study.coalitions import Coalition, bound_site_people, find_usual_cohort, list_heaviest
from maskedbandit.study.protocol import Protocol
from maskedbandit.theory.bounds import to_positive
from maskedbandit.words import say_count, say_things

ERRORS = 3  # standard errors that a difference is to have


class SitesRow(NamedTuple):
    """People that are needed in one way to run the study."""

    way: str
    people: int
    times: float  # those of one pooled trial


@dataclass(frozen=True)
class SitesPlan:
    """The plan of a study of sites."""

    names: tuple[str, ...]
    difference: float
    rows: tuple[SitesRow, ...]
    cohort: int
    spare: int  # people of a cohort who may be at sites that collude or are lost
    any_lost: int  # sites that may do so, whichever they are
    most_lost: int  # sites that may, if they are small
    coalitions: tuple[Coalition, ...]

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [f"{'way':28} {'people':>12} {'times':>7}"]
        lines += [f"{row.way:28} {row.people:12,} {row.times:7.2f}" for row in self.rows]
        lines += [
            f"Until a difference of {self.difference:g} is {ERRORS} standard errors, of outcomes of 0 or 1.",
            "",
            f"{'sites that collude or are lost':40} {'people left':>12}   a person elsewhere loses",
        ]
        for each in self.coalitions:
            who = ", ".join(self.names[site] for site in each.sites) or "none"
            lines.append(f"{who:40} {each.left:12,}   {each.loss}")
        return "\n".join([*lines, self.say_allowed()])

    def say_allowed(self) -> str:
        """Which coalitions cost nothing."""
        people, cohort = say_things(self.spare, "person", "people"), say_count(self.cohort)
        return (
            f"In a cohort of {cohort} people, sites with {people} together may collude or be lost, at no cost to "
            f"others: any {say_things(self.any_lost, 'site')}, and {say_things(self.most_lost, 'site')} at most. Each "
            "has as many people as its share allows."
        )

    def say_price(self) -> str:
        """What the sites cost in people, and which coalitions cost nothing."""
        pooled, sites, *_, alone = self.rows
        return (
            f"To compare all arms once, the {say_things(len(self.names), 'site')} of this protocol need "
            f"{say_count(sites.people)} people, one pooled trial {say_count(pooled.people)}, and a trial at each site "
            f"alone {say_count(alone.people)}. {self.say_allowed()}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything, for programs."""
        coalitions = [
            {"sites": [self.names[site] for site in each.sites], "left": each.left, "loss": str(each.loss)}
            for each in self.coalitions
        ]
        return {**self.__dict__, "rows": [row._asdict() for row in self.rows], "coalitions": coalitions}


def count_people(channel: Channel, difference: float, arms: int = 2, draws: int = 1) -> int:
    """People of all arms together, in one release of each with the noise of a channel, so many times."""
    noise = draws * deviation(channel.law(), 1, 10**6) ** 2
    # (difference / 3)^2 = 2 (1 / (4 n) + noise / n^2), solved for n
    goal = (difference / ERRORS) ** 2
    return arms * ceil((0.5 + sqrt(0.25 + 8 * goal * noise)) / (2 * goal))


def plan_sites(protocol: Protocol, difference: float = 0.05) -> SitesPlan:
    """Plan a study of sites: people needed for a difference, and what coalitions cost.

    The pooled trial costs a person as much as this one does, with all the attempts that a cohort may take.
    """
    if protocol.sites is None:
        raise InvalidValue("protocol", protocol.name, "one with [sites]")
    if to_positive("difference", difference) > 1:
        raise InvalidValue("difference", difference, "above 0, and at most 1")
    channel: Any = protocol.outcomes[0].channel
    attempts, sites = channel.backend.attempts, protocol.sites.sites
    pooled = Central(epsilon=channel.epsilon * attempts, noise=channel.noise)
    alone = count_people(pooled, difference, protocol.choices)
    people = {
        "one pooled trial": alone,
        "the sites of this protocol": count_people(channel, difference, protocol.choices),
        "sites publish noisy sums": count_people(pooled, difference, protocol.choices, len(sites)),
        "a trial at each site alone": alone * len(sites),
    }
    cohort = find_usual_cohort(protocol)
    found = bound_site_people(protocol, cohort)
    return SitesPlan(
        tuple(each.name for each in sites),
        difference,
        tuple(SitesRow(way, many, many / alone) for way, many in people.items()),
        *(cohort, found.spare, found.any_lost, found.most_lost),
        tuple(list_heaviest(protocol, cohort)),
    )
