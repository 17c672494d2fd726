"""The key shares that came back, and the seeds that they give.

A seed is right if it gives what its owner published. It is rebuilt from any t key shares, where t is the threshold. If
it is wrong, some key shares are: of r of them up to (r - t) / 2 may be wrong, and are corrected. With more wrong ones,
or if an owner published something else than it shared, the round ends; so any device can end a round.
"""

from collections.abc import Callable

from maskedbandit.errors import Disagreement, TooFew
from maskedbandit.secagg.correction import corrected
from maskedbandit.secagg.masks import SEED
from maskedbandit.secagg.shamir import PRIME, combine, weights


class KeyShares:
    """All key shares that a server received."""

    def __init__(self, threshold: int) -> None:
        self.threshold = threshold
        self.given: dict[int, dict[int, int]] = {}  # by the owner of the seed and by sender
        self.doubted: set[int] = set()  # senders of wrong key shares

    def add(self, owner: int, sender: int, key_share: bytes) -> None:
        """Keep the key share of the owner's seed that a neighbour sent."""
        if (y := int.from_bytes(key_share)) < PRIME:  # otherwise it is not one
            self.given.setdefault(owner, {})[sender] = y

    def rebuilt(
        self, owner: int, point: Callable[[int], int], publish: Callable[[bytes], bytes], published: bytes
    ) -> bytes:
        """The seed of a user; `point` gives the point of the polynomial at which a sender holds its key share."""
        given, t = self.given.get(owner, {}), self.threshold
        if len(given) < t:
            raise TooFew(f"{len(given)} key shares of a seed of user {owner} came back: {t} are needed")
        known = sorted(given, key=self.doubted.__contains__)  # doubted senders last, as correction takes long
        senders = {point(sender): sender for sender in known}
        key_shares = {x: given[sender] for x, sender in senders.items()}

        def right(secret: int) -> bool:
            return secret < 1 << 8 * SEED and publish(secret.to_bytes(SEED)) == published

        some = list(key_shares)[:t]
        secret = combine([key_shares[x] for x in some], weights(some))
        if not right(secret):
            found = corrected(key_shares, t)
            if found is None or not right(found.secret):
                raise Disagreement(f"the key shares of user {owner}'s seed do not give what the user published")
            secret = found.secret
            self.doubted |= {senders[x] for x in found.wrong}
        return secret.to_bytes(SEED)

    def clear(self) -> None:
        """Forget all key shares."""
        self.given.clear()
