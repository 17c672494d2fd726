"""A server that people trust with their outcomes."""

from maskedbandit.statement.trusts.trust_words import TrustWords
from maskedbandit.study.protocol import Protocol


class TrustedServer(TrustWords):
    """It sees outcomes, and adds the noise."""

    @staticmethod
    def holds(protocol: Protocol) -> bool:
        others = protocol.sites, protocol.operators, protocol.rounds
        return not protocol.on_devices and all(each is None for each in others)

    def say_trust(self, state: str) -> str:
        if state == "archived":
            return (
                "The server of the study was trusted: it kept every outcome until the study was archived, which erased "
                "them, and added the privacy noise before anything left it. Whoever could read both its database and "
                "its keys, or has old copies of both, can have seen outcomes."
            )
        return (
            "The server of the study is trusted: it keeps every outcome until the study is archived, and adds the "
            "privacy noise before anything leaves it. Whoever can read both its database and its keys can see outcomes."
        )

    def list_unprotected(self) -> list[str]:
        return ["Outcomes from whoever has both the database and the keys of its witness."]

    def list_assumptions(self) -> list[str]:
        return ["Nobody measures how long the server takes to make a release, to find outcomes in that."]

    def say_seen(self) -> str:
        return "so whether a report came is protected too"

    def say_kept(self, reports: str) -> str:
        return "and each outcome in the clear"
