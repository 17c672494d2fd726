"""What a study would mean, before it is written down: what it costs, how much noise widens its answer, when it ends."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from maskedbandit.service.estimates import estimate
from maskedbandit.service.odds import best_guess, in_hundred
from maskedbandit.service.page.words import count, counted, decimal, duration
from maskedbandit.study.protocol import Protocol

DAY = 86_400_000


def preview(protocol: Protocol, now: int, per_day: float | None = None) -> list[tuple[str, str]]:
    """Each with a name; the end needs to know how many people come on a day.

    >>> protocol = Protocol.from_table({
    ...     "name": "example", "people": 1000, "policy": "successive_elimination",
    ...     "channel": {"name": "central", "epsilon": 1},
    ...     "arms": [{"name": "a"}, {"name": "b"}], "budget": {"epsilon": 1}})
    >>> [name for name, _ in preview(protocol, now=0, per_day=100)]
    ['What a place costs', 'Budget of a person', 'People', 'The answer', 'The end']
    """
    people, reward = protocol.people, protocol.reward
    loss = protocol.price(max((people or 1000) // protocol.k, 1))
    period = "for ever" if protocol.period is None else f"in {duration(protocol.period)}"
    times = in_hundred(best_guess(loss))
    found = [
        ("What a place costs", f"{loss}: no guess at an outcome is right more than {times} times in 100."),
        ("Budget of a person", f"{protocol.budget} {period}, in all studies of project {protocol.project}."),
    ]
    if people is None:
        found.append(("People", "As many as it needs until the best arm is certain: that depends on the arms."))
        return found
    found.append(("People", f"{count(people)}, for {counted(protocol.k, 'arm')}."))
    each = max(people // protocol.k, 1)
    half = estimate(protocol.channel.law(), 1, each, each / 2)
    scale = reward.most - reward.least
    text = (
        f"If each arm had {counted(each, 'person', 'people')} in one cohort, its mean would be known to "
        f"±{decimal(scale * half.both, 2)}: ±{decimal(scale * half.people, 2)} from how much people differ, and "
        f"×{half.widening:.2f} by privacy noise."
    )
    found.append(("The answer", text))
    if per_day and 0 < per_day < math.inf:
        last = now + people / per_day * DAY + reward.exposure + reward.window
        if last < 253_370_764_800_000:  # the year 9999
            day = datetime.fromtimestamp(last / 1000, UTC).strftime("%-d %B %Y")
            found.append(("The end", f"{day} at {count(round(per_day))} people a day, with the last windows."))
    return found
