"""What an audit shows of the channels of a study, for the page of the service: what `maskedbandit audit` enumerates.

It is computed in a process of its own, once for each protocol.
"""

from __future__ import annotations

from typing import Any

from maskedbandit.channels.tree import Tree
from maskedbandit.cli.parts.computed import answer
from maskedbandit.reports.audit import USUAL
from maskedbandit.reports.audit_exact import exact_part, fitting
from maskedbandit.reports.audit_tree import tree_part
from maskedbandit.study.protocol import Protocol


def main(given: Any) -> list[dict[str, Any]]:
    """For each channel its part, as in the file of an audit, or why it has none."""
    protocol, found = Protocol.from_text(given["protocol"]), list[dict[str, Any]]()
    channels = [protocol.channel] if protocol.guardrail is None else [protocol.channel, protocol.guardrail_channel]
    for channel in channels:
        if isinstance(channel, Tree):
            part, why = tree_part(channel)
        else:
            part, why = exact_part(channel, fitting(channel, USUAL.people))
        found += [part.to_dict()] if part else []
        found += [{"left_out": why}] if why else []
    return found


if __name__ == "__main__":
    answer(main)
