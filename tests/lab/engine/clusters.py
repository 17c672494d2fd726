"""Small clusters, and settings of each kind to run on them."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from dask import config
from distributed import Client, LocalCluster

import maskedbandit as mb
from maskedbandit.lab.engine.threads import Threads

ONE = partial(Threads, 1)
INSTANCE = mb.Bernoulli([0.2, 0.8])
QUIET = {"dashboard_address": "127.0.0.1:0", "silence_logs": 50}
LOG = mb.Newsroom(events=400)


@contextmanager
def cluster(workers: int, processes: bool) -> Iterator[Client]:
    with (
        config.set({"distributed.comm.timeouts.connect": "10 minutes"}),  # this machine may be busy
        LocalCluster(n_workers=workers, threads_per_worker=1, processes=processes, **QUIET) as found,
        Client(found, set_as_default=False) as client,
    ):
        yield client


def same(one: Any, other: Any) -> bool:
    """Whether all numbers of two results are equal, bit for bit."""
    rows = [each for each in vars(one) if isinstance(getattr(one, each), np.ndarray)]
    assert len(rows) > 3
    findings = all(np.array_equal(one.findings[name], other.findings[name], equal_nan=True) for name in one.findings)
    equal = all(np.array_equal(getattr(one, each), getattr(other, each), equal_nan=True) for each in rows)
    return equal and findings and one.loss == other.loss


def settings() -> dict[str, Any]:
    """One small setting of each kind."""
    central, raw, lin = mb.channels.Central(epsilon=0.5), mb.channels.Raw(), mb.policies.LinUCB()
    return {
        "regret": partial(mb.simulate, mb.policies.SuccessiveElimination(), central, INSTANCE, 300),
        "identify": partial(mb.identify, mb.policies.BestArmDPSE(), central, mb.Bernoulli([0.9, 0.1]), delta=0.1),
        "contextual": partial(mb.simulate, lin, raw, mb.LinearContexts(), 20),
        "replay": partial(mb.replay, lin, raw, LOG),
    }
