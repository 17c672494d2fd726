"""What a study would mean, before it is written down: what it costs, and how much noise widens its answer."""

from maskedbandit.core import Release
from maskedbandit.privacy.odds import best_guess, in_hundred
from maskedbandit.service.shown.estimates import estimates
from maskedbandit.study.protocol import Protocol
from maskedbandit.words import count, counted, decimal, duration


def preview(protocol: Protocol) -> list[tuple[str, str]]:
    """Each with a name.

    >>> protocol = Protocol.from_table({
    ...     "name": "example", "people": 1000, "policy": "successive_elimination",
    ...     "channel": {"name": "central", "epsilon": 1},
    ...     "arms": [{"name": "a"}, {"name": "b"}], "budget": {"epsilon": 1}})
    >>> [name for name, _ in preview(protocol)]
    ['What a place costs', 'Budget of a person', 'People', 'The answer']
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
        found.append(("People", "As many as it needs until its answer is certain: that depends on the arms."))
        return found
    found.append(("People", f"{count(people)}, for {counted(protocol.k, 'arm')}."))
    each = max(people // protocol.k, 1)
    (known,) = estimates(protocol.channel.law(), [[Release(0, each, each / 2)]])
    assert known is not None
    both, alone = (reward.width * band.width / 2 for band in (known.outer, known.inner))
    text = (
        f"If each arm had {counted(each, 'person', 'people')} in one cohort, its mean would be known to "
        f"±{decimal(both, 2)} at any time: ±{decimal(alone, 2)} from how much people differ, and "
        f"×{known.widening:.2f} by privacy noise."
    )
    found.append(("The answer", text))
    return found
