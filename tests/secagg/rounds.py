"""A whole round with the real server, in which users leave when the test says so; and what must come of it."""

from __future__ import annotations

from maskedbandit.errors import ProtocolError
from maskedbandit.secagg.client import RoundClient
from maskedbandit.secagg.plan import RoundPlan
from maskedbandit.secagg.server import RoundServer
from tests.secagg.adversary import SEED_OF_RING, identities_of, seeded, signer

STAYS = 9


def same(phase: int, user: int, message: bytes) -> bytes:
    return message


class Round:
    """User u answers in the phases before number `leaves[u]`, counted from 0; `sent` and `received` hold all messages.

    `change` alters what users send, and `alter` what they are told: (phase, user, message) -> message.
    """

    def __init__(
        self,
        plan: RoundPlan,
        values,
        leaves=None,
        kind=RoundClient,
        server=RoundServer,
        seed=1,
        change=None,
        alter=None,
    ) -> None:
        self.plan, self.values = plan, dict(zip(plan.users, values, strict=True))
        self.leaves = dict.fromkeys(plan.users, STAYS) | (leaves or {})
        self.change, self.alter = change or same, alter or same
        bits, who = seeded(seed), identities_of(plan.users)
        self.clients = {u: kind(plan, u, v, bits, signer(u), who) for u, v in self.values.items()}
        self.server = server(plan, SEED_OF_RING, who)
        self.sent: list[dict[int, bytes]] = []
        self.received: list[dict[int, bytes]] = []
        self.gone: dict[int, ProtocolError] = {}  # devices that ended the round on their own
        self.refused: dict[int, ProtocolError] = {}  # devices whose message the server refused

    def phase(self) -> None:
        """One phase: who is there answers."""
        number, sent, received = len(self.sent), {}, {}
        self.sent.append(sent)
        self.received.append(received)
        for user in sorted(self.server.waiting):
            if self.leaves[user] > number and user not in self.gone:
                received[user] = self.alter(number, user, self.server.message_for(user))
                try:
                    sent[user] = self.clients[user].receive(received[user])
                except ProtocolError as why:
                    self.gone[user] = why
                    continue
                try:
                    self.server.receive(user, self.change(number, user, sent[user]))
                except ProtocolError as why:
                    self.refused[user] = why
        self.server.close()

    def run(self) -> Round:
        while self.server.phase:
            self.phase()
        return self

    @property
    def total(self):
        return self.server.total


def succeeds(plan: RoundPlan, leaves, ring) -> set[int] | None:
    """Whose values are in the sum, from the pattern of losses alone; None if the round must fail."""
    left = dict.fromkeys(plan.users, STAYS) | leaves
    here = [{user for user in plan.users if left[user] > phase} for phase in range(5)]
    if len(here[0]) < plan.least:
        return None
    around = {user: set(ring.around(user)) for user in here[0]}

    def fed(users, by):
        """Those who have enough neighbours among `by`; another one leaves."""
        return {user for user in users if len(around[user] & by) >= plan.threshold}

    shared = fed(here[1], here[0])
    if len(shared) < plan.least:
        return None
    survivors = fed(here[2] & shared, shared)
    if len(survivors) < plan.least:
        return None
    last = survivors & here[3]
    if plan.signed:
        if len(last) < plan.threshold:
            return None
        last = fed(last, last) & here[4]
    needed = survivors | {user for user in shared - survivors if around[user] & survivors}
    return survivors if fed(needed, last) == needed else None
