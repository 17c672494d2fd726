"""Two operators, for both of whom devices seal their reports."""

from maskedbandit.statement.trusts.trust_words import TrustWords
from maskedbandit.study.protocol import Protocol
from maskedbandit.words import one_line


class LeaderAndHelper(TrustWords):
    """One of the two has to be honest."""

    by_whom = ", by each operator"
    shares = "It is the sum of two draws, one of each operator, and either of them is enough for what is promised."

    @staticmethod
    def holds(protocol: Protocol) -> bool:
        return protocol.operators is not None and not protocol.shuffled

    def say_trust(self, state: str) -> str:
        operators = self.protocol.operators
        assert operators is not None
        return (
            f"Two operators run the servers of this study: {one_line(operators.leader.name)}, which leads it, and "
            f"{one_line(operators.helper.name)}, its helper. Each person's device seals its report for both, so that "
            "neither sees an outcome unless they work together, and each adds privacy noise of its own. One of the two "
            "has to be honest, and so have the device and its application."
        )

    def list_unprotected(self) -> list[str]:
        return [
            "Outcomes from whoever has the keys of both operators: together they can open every report.",
            "A person whose device is not honest; and how many people send wrong reports on purpose.",
            "Whose device was in contact, and when: the leader sees that.",
        ]

    def list_assumptions(self) -> list[str]:
        return [
            "One operator is honest: it adds its noise, and gives the other neither its keys nor its shares.",
            "A device is in contact at times that depend on no outcome, whatever the outcome is: otherwise the leader "
            "sees who had one. It makes each report once.",
        ]

    def say_seen(self) -> str:
        return "and the leader sees whose device was in contact, so every device has to be"

    def say_kept(self, reports: str) -> str:
        return "and the newest report of each device, sealed for two operators, of which its random name stays"
