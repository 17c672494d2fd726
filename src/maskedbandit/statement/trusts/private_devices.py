"""Local trust: people's devices make their reports private."""

from maskedbandit.statement.outcomes import say_both
from maskedbandit.statement.trusts.trust_words import TrustWords
from maskedbandit.study.protocol import Protocol


class PrivateDevices(TrustWords):
    """Nobody else sees an outcome."""

    @staticmethod
    def holds(protocol: Protocol) -> bool:
        return protocol.on_devices

    def say_trust(self, state: str) -> str:
        return (
            "Nobody has to be trusted with outcomes. Each person's device adds the noise before it reports, so that "
            "not even the server of the study sees an outcome. The device and its application have to be honest."
        )

    def list_unprotected(self) -> list[str]:
        return [
            "A person whose device is not honest; and how many people send wrong reports on purpose.",
            "Who has reported, which outcomes if there are several, and when: the server sees that.",
        ]

    def list_assumptions(self) -> list[str]:
        if self.protocol.outcomes[1:]:
            whatever = (
                f"A device reports {say_both(self.protocol)} outcomes, whatever they are, at times that depend on none "
                "of them: otherwise the server sees who did, when, and why."
            )
        elif self.protocol.reward.cap > 1:
            whatever = (
                "A device reports once, also of a person without any outcome, at a time that depends on no outcome: "
                "otherwise the server sees who did, when, and why."
            )
        else:
            whatever = "A device reports whatever the outcome is: otherwise the server sees who did, and why."
        return ["A device keeps its report and sends the same one again if it has to.", whatever]

    def say_seen(self) -> str:
        several = f", {say_both(self.protocol)}" if self.protocol.outcomes[1:] else ""
        return f"and the server sees who reported, so every device has to{several}"

    def say_kept(self, reports: str) -> str:
        return f"{reports} that each device made private; the outcome itself never leaves the device"
