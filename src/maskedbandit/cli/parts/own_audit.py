"""What an audit shows of the channels of a study, for the page of the service: what `maskedbandit audit` enumerates.

It is computed in a process of its own, once for each protocol.
"""

from __future__ import annotations

from typing import Any

from maskedbandit.channels.tree import Tree
from maskedbandit.cli.parts.computed import answer, computed
from maskedbandit.reports.audit_exact import PEOPLE, exact_part, fitting
from maskedbandit.reports.audit_tree import tree_part
from maskedbandit.study.protocol import Protocol

KEPT = 100  # answers


def main(given: Any) -> list[dict[str, Any]]:
    """For each channel its part, as in the file of an audit, or why it has none."""
    protocol, found = Protocol.from_text(given["protocol"]), list[dict[str, Any]]()
    channels = [protocol.channel] if protocol.guardrail is None else [protocol.channel, protocol.guardrail_channel]
    for channel in channels:
        if isinstance(channel, Tree):
            part, why = tree_part(channel)
        else:
            part, why = exact_part(channel, fitting(channel, PEOPLE))
        found += [part.to_dict()] if part else []
        found += [{"left_out": why}] if why else []
    return found


class OwnAudit:
    """Audits that were asked for."""

    def __init__(self) -> None:
        self._known: dict[str, list[dict[str, Any]]] = {}

    async def __call__(self, protocol: Protocol) -> list[dict[str, Any]]:
        """What is shown of the channels of a study."""
        if protocol.digest not in self._known:
            found = await computed("maskedbandit.cli.parts.own_audit", protocol)
            if len(self._known) >= KEPT:
                self._known.pop(next(iter(self._known)))
            self._known[protocol.digest] = found
        return self._known[protocol.digest]


if __name__ == "__main__":
    answer(main)
