"""Shuffled trust: a second operator mixes what devices send."""

from maskedbandit.statement.trusts.trust_words import TrustWords
from maskedbandit.study.protocol import Protocol
from maskedbandit.words import one_line


class LeaderAndShuffler(TrustWords):
    """Neither knows whose outcome is whose."""

    by_whom = ", by the devices of a cohort, each a part of it"
    shares = (
        "It comes from the devices of the whole cohort; if some never report there is less of it, and the cohort is "
        "only released if what is left is enough for what is promised."
    )

    @staticmethod
    def holds(protocol: Protocol) -> bool:
        return protocol.shuffled

    def say_trust(self, state: str) -> str:
        operators = self.protocol.operators
        assert operators is not None
        return (
            f"Two operators run the servers of this study: {one_line(operators.leader.name)}, which leads it, and "
            f"{one_line(operators.helper.name)}, its shuffler. Each person's device sends its report to the shuffler, "
            "in messages that the leader alone can read, and the shuffler hands on the messages of all people of a "
            "cohort in random order. So neither knows whose outcome is whose unless they work together. The shuffler "
            "has to be honest: it mixes what came, and adds no messages of its own. The leader must not invent people, "
            "nor report in their place. And enough of the people of a cohort have to be honest, and the device and its "
            "application."
        )

    def list_unprotected(self) -> list[str]:
        return [
            "Outcomes from leader and shuffler together: they see almost every one, and whose it is.",
            "A person whose device is not honest; and how many people send wrong reports on purpose.",
            "Whose device reported, and when: the shuffler sees that, and to which place it belongs.",
            "Outcomes of others, from people of the cohort who work with the leader, if they are too many.",
            "Outcomes from a leader that invents the other people of a cohort, or reports in their place.",
        ]

    def list_assumptions(self) -> list[str]:
        return [
            "The shuffler is honest: it mixes what came, adds nothing, and tells the leader no senders.",
            "At least as many people of a cohort are honest, and report, as its channel counts on.",
            "The leader gives its places to people, and sends the shuffler no report itself.",
            "A device reports once its window is over, at a time that depends on no outcome, whatever the outcome is: "
            "otherwise the shuffler sees who had one. It makes its report once.",
        ]

    def say_seen(self) -> str:
        return "and the shuffler sees who reported, so every device has to"

    def say_kept(self, reports: str) -> str:
        return "and nothing of any report, which is with the shuffler until its cohort is mixed"
