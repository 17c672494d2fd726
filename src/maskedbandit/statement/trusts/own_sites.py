"""Sites that keep the outcomes of their own people, and add up."""

from maskedbandit.statement.coalitions import say_coalitions
from maskedbandit.statement.trusts.trust_words import TrustWords
from maskedbandit.study.protocol import Protocol
from maskedbandit.words import one_line, say_things


class OwnSites(TrustWords):
    """A person trusts the own site, which sees the outcome anyway."""

    by_whom = ", by each site for its own people"
    shares = (
        "It is the sum of shares, of each site for each of its people, of which those that are left if sites are lost "
        "or collude are enough for what is promised."
    )

    @staticmethod
    def holds(protocol: Protocol) -> bool:
        return protocol.sites is not None

    def say_trust(self, state: str) -> str:
        sites = self.protocol.sites
        assert sites is not None
        return (
            f"{say_things(len(sites.sites), 'site')} keep the outcomes of their own people: "
            f"{', '.join(one_line(each.name) for each in sites.sites)}. What leaves a site is one masked sum with its "
            "share of the privacy noise, and whoever runs the study sees the noisy sum of all sites alone. "
            f"{say_coalitions(self.protocol)} Each person has to trust the own site, which sees the outcome anyway."
        )

    def list_unprotected(self) -> list[str]:
        return [
            "Outcomes from whoever can read what the person's own site keeps.",
            "How many people of each site are in a cohort, and who of them saw which arm, and when.",
        ]

    def list_assumptions(self) -> list[str]:
        return [
            "The sites know each other's keys, which they compared by other means than the coordinator.",
            "A site answers rounds at times that depend on no outcome, and adds its noise.",
        ]

    def say_seen(self) -> str:
        return "so whether a report came is protected too"

    def say_kept(self, reports: str) -> str:
        return "and no outcome: those stay at the person's site"
