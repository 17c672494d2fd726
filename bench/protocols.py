"""What real protocols cost: whole rounds in one process, all clients simulated, CPU time of one thread.

`python -m bench.protocols` measures these alone. The baseline is the work that no such protocol can do without: two key
agreements for every neighbour of every device.
"""

import subprocess
import sys
import time
from fractions import Fraction
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

import maskedbandit as mb
from bench.report import row
from maskedbandit.backends.secagg import rehearse_round
from maskedbandit.privacy.sampling import Bits, bernoulli
from maskedbandit.secagg.plan import RoundPlan

BITS = Bits()


def agreements(count: int) -> float:
    """CPU seconds of so many key agreements."""
    private, public = X25519PrivateKey.generate(), X25519PrivateKey.generate().public_key().public_bytes_raw()
    start = time.process_time()
    for _ in range(1000):
        private.exchange(X25519PublicKey.from_public_bytes(public))
    return count * (time.process_time() - start) / 1000


def round_of(n: int, k: int, threshold: int, signed: bool = False) -> tuple[float, float]:
    """CPU seconds of a round in which a tenth is lost, and kilobytes that a device sends."""
    seed, modulus = bytes(32), 2**20
    plan = RoundPlan(b"bench", tuple(range(n)), k, threshold, n - 2 * (n // 10), modulus, signed, sha256(seed).digest())
    values = {user: BITS.below(modulus) for user in range(n)}
    leaves = {user: BITS.below(4) for user in values if bernoulli(Fraction(9, 100), BITS)}
    start = time.process_time()
    found = rehearse_round(plan, seed, values, leaves, BITS)
    took = time.process_time() - start
    assert found.total == sum(values[user] for user in found.survivors) % modulus
    return took, sum(phase.up for phase in found.phases) / n / 1000


def peak(n: int, k: int, threshold: int) -> float:
    """Megabytes that a new process needs at most for a round."""
    code = (
        f"import resource; from bench.protocols import round_of; round_of({n}, {k}, {threshold})\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def split_and_mix(n: int) -> float:
    """CPU seconds of a cohort through the shuffler."""
    channel = mb.channels.SplitAndMix(epsilon=1, backend=mb.backends.Shuffler())
    offer = channel.offer(n)
    sent = [channel.randomize(1, offer, BITS) for _ in range(n)]
    start = time.process_time()
    channel.aggregate(sent, offer, BITS)
    return time.process_time() - start


def two_servers(n: int) -> float:
    """CPU seconds of a cohort through two servers."""
    channel = mb.channels.TwoServers(epsilon=1, backend=mb.backends.SealedShares())
    offer = channel.offer(n)
    sent = [channel.randomize(1, offer, BITS) for _ in range(n)]
    start = time.process_time()
    channel.aggregate(sent, offer, BITS)
    return time.process_time() - start


def protocols() -> None:
    """Rounds of every protocol."""
    # k = 120 is what `SecAgg` takes against a server that may lie, if a tenth is corrupted and a tenth may be lost
    cases = [
        (1000, 48, 27, False, 6),
        (1000, 48, 27, True, 12),
        (1000, 120, 87, True, None),
        (10_000, 54, 31, False, 60),
    ]
    for n, k, threshold, signed, goal in cases:
        took, sent = round_of(n, k, threshold, signed)
        base = agreements(2 * n * k)
        what = f"secure aggregation, n = {n}, k = {k}{', signed' if signed else ''}"
        row(what, took, "s", goal, f"{took / base:.2f} times its key agreements alone")
        row("  what a device sends", sent, "kB", 6 if n == 1000 and k == 48 else None)
    row("secure aggregation, n = 10000, k = 54, peak memory", peak(10_000, 54, 31), "MB", 700)
    row("split and mix through a shuffler, n = 10000", split_and_mix(10_000), "s", 12)
    row("two servers, n = 10000", two_servers(10_000), "s")


if __name__ == "__main__":
    protocols()
