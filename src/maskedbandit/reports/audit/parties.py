"""Who looks at a release of an audited study: the public, and whoever can take noise or messages off it."""

from itertools import combinations
from typing import Any, Protocol

from maskedbandit.reports.audit.audit_study import find_cohort_size
from maskedbandit.reports.audit.mixed_reports import MixedReports
from maskedbandit.reports.audit.over_http import Service
from maskedbandit.reports.audit.sealed_reports import SealedReports
from maskedbandit.study.protocol import Protocol as StudyProtocol

SEEN = ("the release", "the release after it", "when the arm is dealt next", "what the device sends")
LEFT = ("the release", "the release after it", "how they differ")
PartyColumns = tuple[str, list[int], list[str]]  # who looks, at which columns of the observations, and their names


class PlayedDevices(Protocol):
    """Devices of a study whose reports are not sent to its service in the open."""

    async def send(self, service: Service, handed: dict[str, Any], high: int, key: str) -> None:
        """A device that was handed this place reports the highest reward or the lowest."""

    def find_views(self, released: dict[str, Any]) -> list[float]:
        """What each of `list_insiders` makes of a release; raise `Disagreement` unless each report is in it once."""


def choose_devices(protocol: StudyProtocol) -> PlayedDevices | None:
    """The devices of a study of two operators, or with a shuffler."""
    if protocol.shuffled:
        return MixedReports(count_honest(protocol))
    return SealedReports() if protocol.operators else None


def count_honest(protocol: StudyProtocol) -> int:
    """Of how many people of an audited cohort the noise is counted on."""
    channel: Any = protocol.channel
    return int(channel.counted_on(find_cohort_size(protocol)))


def list_insiders(protocol: StudyProtocol) -> list[str]:
    """Who can take something off a release of this study, and so has a view of its own."""
    if protocol.operators is None:
        return []
    if not protocol.shuffled:
        return ["the leader", "the helper"]
    return ["the service with some devices"] if count_honest(protocol) < find_cohort_size(protocol) else []


def list_seen_of_arm(protocol: StudyProtocol) -> list[str]:
    """The names of what the audit observes of an arm: what everybody sees, and then what insiders make of it."""
    names = list_public(protocol)
    return [*names, *(f"what {who} makes of {what}" for who in list_insiders(protocol) for what in LEFT)]


def list_public(protocol: StudyProtocol) -> list[str]:
    """The names of what everybody sees of an arm, or a trusted service of what devices send."""
    names = list[str]()
    for outcome in protocol.outcomes:
        metric = outcome.metric
        shown = [SEEN[0], SEEN[1], *([] if metric else SEEN[2:3]), *(SEEN[3:] if outcome.on_devices else [])]
        names += [f"{each} ({metric})" if metric else each for each in shown]
    several = combinations([outcome.metric or "the reward" for outcome in protocol.outcomes], 2)
    return [*names, *(f"the release, of {one} and {other} together" for one, other in several)]


def list_parties(protocol: StudyProtocol) -> list[PartyColumns]:
    """Each party, and the columns that it sees. Insiders do not share what they make of a release."""
    names, insiders = list_seen_of_arm(protocol), list_insiders(protocol)
    public = list(range(len(list_public(protocol))))
    found = [] if protocol.operators and not protocol.shuffled else [("", public, names[: len(public)])]
    for i, who in enumerate(insiders):
        first = len(public) + i * len(LEFT)
        columns = [*public, *range(first, first + len(LEFT))]
        found.append((f", to {who}", columns, [names[column] for column in columns]))
    return found


def compare_views(now: list[float], after: list[float]) -> list[float]:
    """What insiders make of a release and of the arm's next one, each as `LEFT` says.

    Their difference has no noise if a draw was used twice.
    """
    return [number for a, b in zip(now, after, strict=True) for number in (a, b, a - b)]
