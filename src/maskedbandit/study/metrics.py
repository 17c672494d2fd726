"""Metrics: further outcomes of each person of which the sums are published, and by which nothing is decided.

    [[metrics]]
    name = "spent"                   # the `metric` of its reports
    share = "1/5"                    # of the epsilon of the channel: needed, as it is what the reward goes without
    least = 0                        # these five are as in [reward], whose windows are those of the metrics too
    most = 100
    rule = "sum"
    cap = 1
    default = 0

The policy sees the sums of the reward alone, and what finds harm those of the guardrail.
"""

from fractions import Fraction
from typing import Any, NamedTuple

from maskedbandit.errors import InvalidValue
from maskedbandit.study.naming import check_study_name, refuse_unknown
from maskedbandit.study.outcomes import FURTHER_KEYS, read_further_outcome, read_share
from maskedbandit.study.reward import Reward

MOST_METRICS = 3
MEASURED_KEYS = (*FURTHER_KEYS, "cap")
METRIC_KEYS = ("name", "share", *MEASURED_KEYS)


class Metric(NamedTuple):
    """A metric: a further outcome, and its part of epsilon."""

    name: str
    outcome: Reward
    share: Fraction
    called: str  # what errors call it


def read_metrics(given: Any, reward: Reward, guardrail: str = "") -> tuple[Metric, ...]:
    """The [[metrics]] tables of a protocol with this [reward], and perhaps a guardrail of this name.

    >>> (found,) = read_metrics([{"name": "spent", "most": 100, "share": "1/5"}], Reward())
    >>> found.name, found.outcome.most, found.share
    ('spent', 100.0, Fraction(1, 5))
    """
    if not isinstance(given, list) or len(given) > MOST_METRICS or not all(isinstance(each, dict) for each in given):
        raise InvalidValue("metrics", given, f"at most {MOST_METRICS} [[metrics]] tables")
    found = tuple(read_metric(f"metric {i}", each, reward) for i, each in enumerate(given, 1))
    names = [*([guardrail] if guardrail else []), *(each.name for each in found)]
    if len(set(names)) < len(names):
        raise InvalidValue("names of the metrics", names, "different from one another, and from the guardrail's")
    return found


def read_metric(called: str, given: dict[str, Any], reward: Reward) -> Metric:
    """One of the tables."""
    refuse_unknown("key of [[metrics]]", given, METRIC_KEYS)
    name = check_study_name(f"name of {called}", given.get("name"))
    outcome = read_further_outcome(called, given, reward, MEASURED_KEYS)
    return Metric(name, outcome, read_share(called, given.get("share")), called)
