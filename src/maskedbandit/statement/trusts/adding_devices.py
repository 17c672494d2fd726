"""Devices that stay, and add up by themselves."""

from fractions import Fraction
from typing import Any

from maskedbandit.channels.channel import find_backend
from maskedbandit.statement.trusts.trust_words import TrustWords
from maskedbandit.study.protocol import Protocol
from maskedbandit.words import say_count


class AddingDevices(TrustWords):
    """The server sees no outcome, as long as it keeps to its rules."""

    by_whom = ", by each device"
    shares = (
        "It is the sum of shares, one of each device, of which those of the honest devices that are left are enough "
        "for what is promised."
    )
    lost = "Who is lost before the sum counts as nobody, and may differ from those who stay."

    @staticmethod
    def holds(protocol: Protocol) -> bool:
        return protocol.rounds is not None

    def say_trust(self, state: str) -> str:
        backend: Any = find_backend(self.protocol.channel)
        return (
            "The outcomes stay on people's devices, which add up by themselves: each sends one masked number, with its "
            "share of the privacy noise, and whoever runs the study sees the noisy sum of a cohort alone. "
            f"{say_corrupted(backend.rules.corrupted)} The server has to keep to the rules of the rounds: it must not "
            "invent devices, nor tell devices different things. The own device and its application have to be honest."
        )

    def list_unprotected(self) -> list[str]:
        return [
            "Outcomes from a server that breaks the rules of the rounds, or that more devices of a cohort tell all.",
            "A person whose device is not honest; and how many people send wrong numbers on purpose.",
            "Whose device was in contact, and when: the server sees that.",
        ]

    def list_assumptions(self) -> list[str]:
        return [
            "The devices that are counted on are those of people: nobody runs many of them.",
            "A device is in contact at times that depend on no outcome, whatever the outcome is: otherwise the server "
            "sees who had one. It joins each attempt at a sum once.",
        ]

    def say_seen(self) -> str:
        return "and the server sees whose device was in contact, so every device has to be"

    def say_kept(self, reports: str) -> str:
        return "and no outcome: those stay on people's devices"


def say_corrupted(part: Fraction) -> str:
    """What holds if devices tell whoever runs the study what they know."""
    if not part:
        return "All devices of a cohort have to be honest: one that tells its noise share takes noise away."
    few, many = part.numerator, part.denominator
    told = "told it all that they know"
    return f"That holds even if up to {say_count(few)} in {say_count(many)} devices of a cohort {told}."
