"""Secure aggregation by one server and the devices themselves [BIK17; BBG20].

Of the n users of a cohort up to c = floor(corrupted n) may be corrupted: they tell the server all that they know. The
noise of `least` honest users is counted on, so the sum is opened only if it has c + least values, and up to
d = n - c - least users may be lost. On the complete graph every device shares its secrets with every other device. On a
sparse graph it shares them with k neighbours, and k grows with log n.

An "honest" server follows the protocol and only looks; corrupted devices do the same, or send nonsense. A "malicious"
server may send anything to anybody. Then devices sign their keys and the list of survivors that they received, and no
device helps to open a sum before enough neighbours have signed the same list.

**Guarantee**: if at most c users are corrupted, all that the server and these users learn of the values of honest users
is their sum over one list of survivors, with at least `least` honest users in it. On the complete graph this holds for
sure. On a sparse graph it fails with probability below 2^-40 under an honest server, and below 2^-80 for each ring
that a malicious server tries (docs/secure_sums.md has the proof). If at most d users are lost, a round on a sparse
graph fails to end with probability below 2^-20, unless somebody sends nonsense.

"auto" takes the complete graph for up to 128 users and under a malicious server, where a sparse graph needs more
neighbours than under an honest one: k = 48 of 1000 users under an honest server, 372 under a malicious one, if a tenth
may be corrupted and a tenth lost.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from typing import Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from maskedbandit.backends.backend import Adder, Aggregate, Phase, parse_fraction
from maskedbandit.errors import InvalidValue, TooFew
from maskedbandit.privacy.exact import Number
from maskedbandit.privacy.sampling import Bits, bernoulli
from maskedbandit.secagg.client import RoundClient
from maskedbandit.secagg.masks import KEY, random_bytes
from maskedbandit.secagg.plan import RoundPlan
from maskedbandit.secagg.round_rules import GRAPHS, SERVERS, RoundRules
from maskedbandit.secagg.server import RoundServer


@dataclass(frozen=True)
class SecAgg(Adder):
    """A rehearsal of the whole round in one process: n clients and a server exchange bytes.

    A device drops out with probability `dropout`, before a phase drawn at random. A cohort may be tried `attempts`
    times; each attempt is charged in full. Cohorts that count on fewer than `smallest` honest users are refused: noise
    protects a user there as well, but a sum of so few users hides little without it.

    >>> SecAgg(corrupted=0.1).rules.plan(1000, least=800, modulus=2**11).neighbours
    48
    >>> SecAgg(smallest=3).sum([3, 4, 6], 8, least=3, cohort=b"example", bits=Bits()).total
    5
    """

    corrupted: Number = 0
    server: Literal["honest", "malicious"] = "honest"
    graph: Literal["auto", "complete", "sparse"] = "auto"
    dropout: Number = 0
    attempts: int = 1
    smallest: int = 32

    def __post_init__(self) -> None:
        for name in ("corrupted", "dropout"):
            object.__setattr__(self, name, parse_fraction(name, getattr(self, name)))
        if self.server not in SERVERS:
            raise InvalidValue("server", self.server, "'honest' or 'malicious'")
        if self.graph not in GRAPHS:
            raise InvalidValue("graph", self.graph, "'auto', 'complete' or 'sparse'")
        for name in ("attempts", "smallest"):
            if type(getattr(self, name)) is not int or getattr(self, name) < 1:
                raise InvalidValue(name, getattr(self, name), "a whole number of at least 1")

    @property
    def rules(self) -> RoundRules:
        """What the devices of a cohort agree on."""
        return RoundRules(Fraction(self.corrupted), self.server, self.graph, self.smallest)

    def check_size(self, n: int, least: int) -> None:
        self.rules.find_neighbourhood(n, least)

    def sum(self, values: Sequence[int], modulus: int, least: int, cohort: bytes, bits: Bits) -> Aggregate:
        seed = random_bytes(KEY, bits)
        plan = self.rules.plan(len(values), least, modulus, cohort, sha256(seed).digest())
        return rehearse_round(plan, seed, dict(enumerate(values)), self.leaves(len(values), bits), bits)

    @property
    def phases(self) -> int:
        """How many messages a device sends; signed rounds have one more, for votes."""
        return 5 if self.server == "malicious" else 4

    def leaves(self, n: int, bits: Bits) -> dict[int, int]:
        """Which users drop out, and before which phase, counted from 0."""
        return {user: bits.below(self.phases) for user in range(n) if bernoulli(Fraction(self.dropout), bits)}


def rehearse_round(
    plan: RoundPlan,
    seed: bytes,
    values: Mapping[int, int],
    leaves: Mapping[int, int],
    bits: Bits,
    watch: Callable[[RoundServer], object] = lambda server: None,
) -> Aggregate:
    """One round in this process. User u drops out before phase `leaves[u]`, counted from 0.

    `watch` is called after every message that a user sends.
    """
    signers: dict[int, Ed25519PrivateKey] = {}
    if plan.signed:  # long-term keys: they exist before the round
        signers = {user: Ed25519PrivateKey.from_private_bytes(random_bytes(KEY, bits)) for user in values}
    identities = {user: signer.public_key().public_bytes_raw() for user, signer in signers.items()}
    began = time.process_time()
    clients = {
        user: RoundClient(plan, user, value, bits, signers.get(user), identities) for user, value in values.items()
    }
    server = RoundServer(plan, seed, identities)
    phases: list[Phase] = []
    while server.phase:
        name, up, down = server.phase, 0, 0
        for user in sorted(server.waiting):
            if user not in leaves or leaves[user] > len(phases):
                received = server.message_for(user)
                try:
                    sent = clients[user].receive(received)
                except TooFew:  # too few neighbours are left: this device drops out too
                    continue
                server.receive(user, sent)
                up, down = up + len(sent), down + len(received)
                watch(server)
        server.close()
        now = time.process_time()
        phases.append(Phase(name, up, down, now - began))
        began = now
    assert server.total is not None
    return Aggregate(server.total, sorted(server.survivors), tuple(phases))
