"""What a study would take under each trust model, for the page of the service: the plan of `maskedbandit plan`.

It is computed in a process of its own; what was asked before is kept.
"""

from __future__ import annotations

from typing import Any

from maskedbandit.cli.parts.computed import Kept, answer
from maskedbandit.reports.plan import Question, Row, plan
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.reward import UNITS
from maskedbandit.words import count

RUNS = 100


def question(protocol: Protocol, baseline: float, difference: float, per_day: float) -> Question:
    """What is asked: for the policies of plans, at the ε of the study's channel."""
    search = protocol.people is None
    return Question(
        arms=protocol.k,
        baseline=baseline,
        difference=difference,
        epsilon=float(getattr(protocol.channel, "epsilon", 1.0)),
        people=protocol.people,
        delta=min(float(protocol.aim), 0.5) if search else 0.05,
        per_day=per_day,
        window=protocol.reward.window / UNITS["day"],
        goal="identify" if search else "regret",
    )


def main(given: Any) -> list[dict[str, str]]:
    """For each trust model what is said of it, by the names of the columns."""
    protocol = Protocol.from_text(given.pop("protocol"))
    return [cells(each, protocol.people is None) for each in plan(question(protocol, **given), runs=RUNS).rows]


def cells(row: Row, search: bool) -> dict[str, str]:
    """What is said of a trust model; the bound on regret is one for studies of many more people, so it is left out."""
    found = row.expected
    people = {
        "People, on average": f"{count(round(found.people))} ± {count(round(found.people_error))}",
        "In nine of ten studies": f"at most {count(round(found.people_most))}",
        "Every search needs": f"at least {count(round(row.bound))}",
    }
    lost = {
        "Outcomes lost by exploring": f"{count(round(found.regret))} ± {count(round(found.regret_error))}",
        "An equal split would lose": count(round(found.equal)),
    }
    same = {"Trust": row.trust, "Days": f"{row.days:,.1f}"}
    return {**same, **(people if search else {"People": count(round(found.people))}), **lost}


class TrustPlan:
    """Plans that were asked for."""

    def __init__(self) -> None:
        self._kept = Kept("maskedbandit.cli.parts.trust_plan")

    async def __call__(
        self, protocol: Protocol, baseline: float, difference: float, per_day: float
    ) -> tuple[list[str], list[list[str]], str]:
        """The head and the rows of the table, and how they were found."""
        rows = await self._kept(protocol, baseline=baseline, difference=difference, per_day=per_day)
        policy = question(protocol, baseline, difference, per_day).played
        about = (
            f"{RUNS} simulated studies for each trust model, with {type(policy).__name__}, ε as in this study, and the "
            "delay of its window. All arms but the best have the lower mean, which is the hardest case."
        )
        return list(rows[0]), [list(row.values()) for row in rows], about


if __name__ == "__main__":
    answer(main)
