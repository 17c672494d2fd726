"""What has to be said of a trust model, wherever a statement depends on it."""

from abc import ABC, abstractmethod
from typing import ClassVar

from maskedbandit.study.protocol import Protocol


class TrustWords(ABC):
    """The words of a trust model, for a study."""

    by_whom: ClassVar[str] = ""  # who draws noise, if not the service alone
    shares: ClassVar[str] = ""  # of what the noise in a sum is made, if not of one draw
    lost: ClassVar[str] = ""  # who is in no sum, besides those who report nothing

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol

    @staticmethod
    @abstractmethod
    def holds(protocol: Protocol) -> bool:
        """Whether it is the trust model of a study."""

    @abstractmethod
    def say_trust(self, state: str) -> str:
        """Who sees what; and who saw it, once a study is archived."""

    @abstractmethod
    def list_unprotected(self) -> list[str]:
        """What nobody should expect, besides what is so in every study."""

    @abstractmethod
    def list_assumptions(self) -> list[str]:
        """On what the statement rests, besides what every statement rests on."""

    @abstractmethod
    def say_seen(self) -> str:
        """What is seen of who reports nothing, who `counts as …`."""

    @abstractmethod
    def say_kept(self, reports: str) -> str:
        """What is kept of outcomes; `reports` are those of a person."""
