"""The metrics of a study on its page: a table for each, and what may be read from them."""

from collections.abc import Sequence

from maskedbandit.service.page.arm_order import say_arm
from maskedbandit.service.page.tables import PageTable
from maskedbandit.service.views.view import StudyView
from maskedbandit.study.protocol import Protocol
from maskedbandit.words import say_count, say_decimal, say_percent, say_things


def head_metric(view: StudyView) -> list[str]:
    """The names of the columns of `tabulate_metric`."""
    found = ["Arm", "People", "Mean, with noise", "At least", "At most"]
    return [*found, f"More than {view.base.name}", "At least", "At most"] if is_compared(view) else found


def tabulate_metric(view: StudyView, metric: str, order: Sequence[int]) -> PageTable:
    """A row for each arm, in this order: its mean, and what it has more than the first one, or the control."""
    found = PageTable()
    for arm in (view.arms[number] for number in order):
        each = next((each for each in arm.metrics if each.metric == metric), None)
        row = (
            ["0", *["–"] * 3]
            if each is None
            else [say_count(each.n), *map(say_decimal, (each.mean, each.low, each.high))]
        )
        more = each and each.compared
        ends = ["–"] * 3 if not more else list(map(say_decimal, (more.difference, more.low, more.high)))
        found.append([say_arm(arm), *row, *(ends if is_compared(view) else [])])
    return found


def is_compared(view: StudyView) -> bool:
    """Whether any arm was dealt together with the first one."""
    return any(each.compared for arm in view.arms for each in arm.metrics)


def say_metrics(protocol: Protocol) -> str:
    """What metrics are, and what they cost."""
    share = protocol.outcomes[0].share
    return (
        f"Further outcomes of the same people. Nothing is decided by them. They are in the same releases as the "
        f"reward, and cost nobody more than it would alone: the reward has {say_percent(float(share))} of ε in place "
        f"of all of it, so its noise is {say_decimal(1 / float(share))} times as wide."
    )


def say_many_intervals(view: StudyView) -> str:
    """How often an interval of these tables is wrong, as they are many."""
    found = [each for arm in view.arms for each in arm.metrics]
    many = len(found) + sum(each.compared is not None for each in found)
    return (
        "Each interval holds its true value in 95 of 100 studies, however often it is looked at. These tables have "
        f"{say_things(many, 'interval')}, and that any of them is wrong is likelier than that a certain one is: decide "
        "before you look which ones you go by."
    )
