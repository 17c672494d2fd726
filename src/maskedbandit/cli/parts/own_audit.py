"""What an audit shows of the channels of a study, for the page of the service: what `maskedbandit audit` enumerates.

It is computed in a process of its own, once for each protocol.
"""

from typing import Any

from maskedbandit.channels.tree import Tree
from maskedbandit.cli.parts.own_process import answer_on_stdin
from maskedbandit.reports.audit.audit import USUAL_AUDIT
from maskedbandit.reports.audit.exact import exact_part, fit_cohort_size
from maskedbandit.reports.audit.trees import tree_part
from maskedbandit.study.protocol import Protocol


def main(given: Any) -> list[dict[str, Any]]:
    """For each outcome its part, as in the file of an audit, or why it has none."""
    protocol, found = Protocol.from_text(given["protocol"]), list[dict[str, Any]]()
    several = len(protocol.outcomes) > 1
    for outcome in protocol.outcomes:
        name, channel = f": {outcome.metric or 'the reward'}" if several else "", outcome.channel
        if isinstance(channel, Tree):
            part, why = tree_part(channel)
        else:
            part, why = exact_part(channel, fit_cohort_size(channel, USUAL_AUDIT.people))
        if part is not None:
            found.append(part.to_dict() | {"part": part.part + name})
        found += [{"left_out": why}] if why else []
    if several:
        cost = protocol.price(USUAL_AUDIT.people)
        found.append({"left_out": f"all outcomes together: what is promised of each adds up to {cost}"})
    return found


if __name__ == "__main__":
    answer_on_stdin(main)
