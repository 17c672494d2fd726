"""What a study would take under each trust model, for the page of the service: the plan of `maskedbandit plan`.

It is computed in a process of its own; what was asked before is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maskedbandit.cli.parts.forecast import expected_means
from maskedbandit.cli.parts.own_process import Kept, answer_on_stdin
from maskedbandit.statement.sentences import say_control
from maskedbandit.study.control import share_left
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.reward import MILLISECONDS
from maskedbandit.words import say_count

if TYPE_CHECKING:
    from maskedbandit.lab.goals.plans import Row
    from maskedbandit.reports.plan.plan import Question

PART = 2  # of the simulated studies of a plan: a page waits for them


def question(protocol: Protocol, baseline: float, difference: float, per_day: float) -> Question:
    """What is asked, at the ε of the study's channel: for the policy of plans, or its own if there is none for all."""
    from maskedbandit.reports.plan.plan import Question  # which a server need not load to begin

    policy = None if protocol.policy.purpose.live else protocol.policy
    return Question(
        arms=protocol.choices,
        baseline=baseline,
        difference=difference,
        epsilon=float(getattr(protocol.channel, "epsilon", 1.0)),
        people=None if protocol.people is None else int(protocol.aim),
        delta=min(float(protocol.aim), 0.5) if protocol.people is None else 0.05,
        per_day=per_day * share_left(protocol.control),
        window=protocol.reward.taken_for / MILLISECONDS["day"],
        goal=protocol.policy.goal,
        means=expected_means(protocol, baseline, difference) if policy else None,
        policy=policy,
    )


def main(given: Any) -> list[dict[str, str]]:
    """For each trust model what is said of it, by the names of the columns."""
    from maskedbandit.reports.plan.plan import TRUST, plan

    protocol = Protocol.from_text(given.pop("protocol"))
    asked = question(protocol, **given)
    fit = [each for each, made in TRUST.items() if not asked.played.needs(made(1.0, asked.privacy_delta).law())]
    return [cells(each, asked) for each in plan(asked, trust=fit, runs=asked.planned.runs // PART).rows]


def cells(row: Row, asked: Question) -> dict[str, str]:
    """What is said of a trust model."""
    found = row.expected
    people, most = {"People": say_count(round(found.people))}, found.at_most
    search = {
        "People, on average": f"{say_count(round(found.people))} ± {say_count(round(found.people_error))}",
        "In nine of ten studies": f"at most {say_count(round(found.people_most))}",
        "Every search needs": "not known with a δ" if row.bound is None else f"at least {say_count(round(row.bound))}",
    }
    lost = {
        "Outcomes lost by exploring": f"{say_count(round(found.regret))} ± {say_count(round(found.regret_error))}",
        "An equal split would lose": say_count(round(found.equal)),
    }
    same = {"Trust": row.trust, "Days": f"{row.days:,.1f}"}
    wrong = {name: f"{found.wrong:.1%}"} if (name := asked.planned.wrong) else {}
    proved = {} if most is None else {"Proved of wrong answers": f"at most {most:.1%}"}
    return {**same, **(search if asked.searches else people), **wrong, **proved, **lost}


class TrustPlan:
    """Plans that were asked for."""

    def __init__(self) -> None:
        self._kept = Kept("maskedbandit.cli.parts.trust_plan")

    async def __call__(
        self, protocol: Protocol, baseline: float, difference: float, per_day: float
    ) -> tuple[list[str], list[list[str]], str]:
        """The head and the rows of the table, and how they were found."""
        from maskedbandit.reports.plan.sites import plan_sites

        asked = question(protocol, baseline, difference, per_day)
        rows = await self._kept(protocol, baseline=baseline, difference=difference, per_day=per_day)
        share = protocol.outcomes[0].share
        about = (
            f"{asked.planned.runs // PART} simulated studies for each trust model, with {type(asked.played).__name__}, "
            "ε as in this study, and the delay of its window. All arms but the best, or the best ones if several are "
            "named, have the lower mean, which is the hardest case."
        )
        if share < 1:
            about += f" It is the ε of the reward, {share} of that of the channel: the other outcomes have the rest."
        if protocol.control is not None:
            about += f" {say_control(protocol)} People here are the others."
        if protocol.sites is not None:
            about += f" {plan_sites(protocol, difference).say_price()}"
        return list(rows[0]), [list(row.values()) for row in rows], about


if __name__ == "__main__":
    answer_on_stdin(main)
