"""How fast it is: every number beside its baselines, all measured in this one run on this one machine.

Times are CPU times of one thread, the best of several repeats, because machines are shared; starting a process is
wall-clock time. A step is one choice, one reward and one update. Compare ratios, not seconds, across machines.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction

import maskedbandit as mb
from bench.bundles import bundles
from bench.clusters import clusters
from bench.compiling import compiling
from bench.contextual import contextual
from bench.devices import devices
from bench.installing import installing
from bench.least import ONE, least
from bench.ledgers import ledgers
from bench.logs import logs
from bench.pages import pages
from bench.protocols import protocols
from bench.report import print_missed_goals, row
from bench.searches import identification
from bench.service import service
from bench.short_horizons import short_horizons
from bench.shuffled_reports import shuffled_reports
from bench.site import site
from bench.steps import INSTANCE, MEANS, RAW, engine, steps
from bench.streams import streams
from bench.studies import studies
from bench.whole_reports import whole_reports
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.noises.skellam import Skellam
from maskedbandit.privacy.sampling import Bits, discrete_laplace
from maskedbandit.privacy.statistics import linear_sums

FIVE = mb.Bernoulli([0.75, 0.625, 0.5, 0.375, 0.25])


@contextmanager
def all_compiled() -> Iterator[None]:
    """No run is plain Python, as none is in a study of many: a few short ones would be over before it is compiled."""
    os.environ["MASKEDBANDIT_KERNELS"] = "compiled"
    try:
        yield
    finally:
        del os.environ["MASKEDBANDIT_KERNELS"]


def peak(horizon: int) -> float:
    """Megabytes that a new process needs at most to simulate up to a horizon."""
    code = (
        "import resource, maskedbandit as mb\n"
        "mb.simulate(mb.policies.SuccessiveElimination(), mb.channels.Distributed(epsilon=0.5),"
        f" mb.Bernoulli([{', '.join(map(str, MEANS))}]), {horizon}, runs=20)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def batched() -> None:
    """Policies that ask for batches, K = 5: milliseconds per run, and how they grow with the horizon."""
    central, bits = mb.channels.Central(epsilon=0.5), mb.channels.Response(epsilon=0.5)
    gaussian = mb.channels.Central(epsilon=0.5, noise=mb.noises.DiscreteGaussian())
    names = ("NoiseAwareKLUCB", "DPKLUCB", "DPIMED", "AdaPKLUCB", "AdaPUCB", "AnytimeLazyUCB", "DPSE")
    studies = [(name, central) for name in names]
    studies += [("AdaCUCB", gaussian), ("NoiseAwareKLUCB", gaussian), ("NoiseAwareKLUCB", bits)]
    studies += [("NoiseAwareKLUCB", mb.channels.Shuffled(epsilon=0.5))]
    for name, channel in studies:
        policy = getattr(mb.policies, name)()
        short, long = (
            10 * least(lambda: mb.simulate(policy, channel, FIVE, horizon, runs=100, executor=ONE))  # noqa: B023
            for horizon in (10**6, 10**9)
        )
        note = f"{long:.2g} ms at T = 10^9, {long / short:.1f} times that"
        row(
            f"{name}, {type(channel).__name__}, {type(getattr(channel, 'noise', None)).__name__}",
            short,
            "ms/run",
            5,
            note,
        )


def main() -> None:
    """Measure everything and print it."""
    print(f"{'':58}{'':10} {'':8}{'goal  met':14}")
    steps()
    channels = {
        "raw": RAW,
        "central": mb.channels.Central(epsilon=0.5),
        "distributed": mb.channels.Distributed(epsilon=0.5),
        "distributed, a fifth may drop out": mb.channels.Distributed(epsilon=0.5, honest=0.8),
        "distributed, Skellam": mb.channels.Distributed(epsilon=0.5, noise=mb.noises.Skellam()),
        "distributed, discrete Gaussian, paper's grid": mb.channels.Distributed(
            epsilon=0.5, noise=mb.noises.DiscreteGaussian(), grid="paper"
        ),
        "local": mb.channels.Local(epsilon=0.5),
        "local, Skellam": mb.channels.Local(epsilon=0.5, noise=mb.noises.Skellam()),
        "local, discrete Gaussian": mb.channels.Local(epsilon=1, noise=mb.noises.DiscreteGaussian()),
        "randomized response": mb.channels.Response(epsilon=0.5),
    }
    with all_compiled():
        for horizon, goal in ((10**6, 1.0), (10**9, 2.0)):
            for name, channel in channels.items():
                policy = mb.policies.SuccessiveElimination()
                took = least(lambda: mb.simulate(policy, channel, INSTANCE, horizon, runs=100, executor=ONE))  # noqa: B023
                row(f"elimination, T = {horizon:.0e}, {name}", 10 * took, "ms/run", goal)
        batched()
        identification()
    short_horizons()
    protocols()
    devices()
    bundles()
    ledgers()
    whole_reports()
    shuffled_reports()
    studies()
    pages()
    service()
    streams()
    logs()
    contextual()
    clusters()
    tree = mb.channels.Tree(epsilon=0.5)
    for one in (mb.policies.DPUCB(), mb.policies.DPThompson()):
        row(f"{type(one).__name__}, K = 5, T = 10^6, on a tree", engine(one, 10**6, 5, tree, FIVE), "ns/step", 400)
    lazy = engine(mb.policies.LazyDPThompson(), 10**6, 5, mb.channels.Central(epsilon=0.5), FIVE)
    row("LazyDPThompson, K = 5, T = 10^6", lazy, "ns/step")
    klucb = engine(mb.policies.KLUCB(), 10**6, 5, mb.channels.Response(epsilon=0.5), FIVE)
    row("KLUCB on randomized response, K = 5, T = 10^6", klucb, "ns/step")
    gaussian = engine(mb.policies.GaussianThompson(), 10**6, 5, RAW, FIVE)
    row("GaussianThompson, K = 5, T = 10^6", gaussian, "ns/step")
    low, high = peak(10**6), peak(10**9)
    row("peak memory, elimination, T = 10^6", low, "MB")
    row("peak memory, elimination, T = 10^9", high, "MB", None, f"{high / low:.3f} times that at 10^6")

    bits, laplace, skellam = Bits(), DiscreteLaplace().stretch(Fraction(32)), Skellam()
    device = mb.channels.Distributed(epsilon=0.5)
    offer = device.offer(1000)

    def sends() -> float:
        device.check_offer(offer)
        return device.randomize(0.3, offer, bits)

    def microseconds(draw: Callable[[], object]) -> float:
        return 1e3 * least(lambda: [draw() for _ in range(1000)])

    vector = device.carrying(linear_sums(6))
    of_vector, size = vector.release_noise(1000), vector.statistics.size
    share = microseconds(lambda: laplace.noise_share(1000, bits))
    shares = microseconds(lambda: of_vector.noise_shares(size, 1000, bits))
    row("exact Pólya noise share, both variables, n = 1000, g/ε = 32", share, "µs", 15)
    row(f"exact noise shares of {size} numbers, n = 1000, scale {float(of_vector.scale):.1g}", shares, "µs", 50)
    row("exact discrete Laplace draw, scale 10", microseconds(lambda: discrete_laplace(10, bits)), "µs", 10)
    row("exact Skellam noise share, n = 1000, ε = 1", microseconds(lambda: skellam.noise_share(1000, bits)), "µs")
    row("all that a device does to a reward, n = 1000", microseconds(sends), "µs")

    installing()
    compiling()
    site()
    print_missed_goals()


if __name__ == "__main__":
    main()
