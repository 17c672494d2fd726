"""Shares that came back, and the secrets behind them.

A secret is the one that gives what its owner published. It is put together from any t shares, t the threshold; if that
is not it, some share is wrong, and of r shares (r - t) / 2 may be: these are corrected. With more wrong ones, or if an
owner published something else than it shared, there is no secret, and the round ends: any device can do that.
"""

from __future__ import annotations

from collections.abc import Callable

from maskedbandit.errors import Disagreement, TooFew
from maskedbandit.secagg.correction import corrected
from maskedbandit.secagg.masks import SEED
from maskedbandit.secagg.shamir import PRIME, combine, weights


class Shares:
    """The shares of all secrets that a server was sent."""

    def __init__(self, threshold: int) -> None:
        self.threshold = threshold
        self.given: dict[int, dict[int, int]] = {}  # by the owner of the secret, by sender
        self.doubted: set[int] = set()  # senders of wrong shares

    def add(self, owner: int, sender: int, share: bytes) -> None:
        """Keep what a user sent of another's secret."""
        if (y := int.from_bytes(share)) < PRIME:  # another is no share
            self.given.setdefault(owner, {})[sender] = y

    def rebuilt(
        self, owner: int, place: Callable[[int], int], publish: Callable[[bytes], bytes], published: bytes
    ) -> bytes:
        """The seed of a user; `place` says where a sender's share lies on the polynomial."""
        given, t = self.given.get(owner, {}), self.threshold
        if len(given) < t:
            raise TooFew(f"{len(given)} shares of a secret of user {owner} came back: {t} are needed")
        known = sorted(given, key=self.doubted.__contains__)  # to correct wrong shares takes long
        senders = {place(sender): sender for sender in known}
        shares = {x: given[sender] for x, sender in senders.items()}

        def right(secret: int) -> bool:
            return secret < 1 << 8 * SEED and publish(secret.to_bytes(SEED)) == published

        some = list(shares)[:t]
        secret = combine([shares[x] for x in some], weights(some))
        if not right(secret):
            found = corrected(shares, t)
            if found is None or not right(found.secret):
                raise Disagreement(f"the shares of user {owner}'s secret do not give what the user published")
            secret = found.secret
            self.doubted |= {senders[x] for x in found.wrong}
        return secret.to_bytes(SEED)

    def clear(self) -> None:
        """Keep nothing."""
        self.given.clear()
