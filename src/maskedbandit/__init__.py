"""Masked Bandit: adaptive experiments on private outcomes.

    >>> import maskedbandit as mb
    >>> instance = mb.Bernoulli([0.9, 0.8, 0.8])
    >>> policy = mb.policies.SuccessiveElimination()
    >>> channel = mb.channels.Distributed(epsilon=0.5)
    >>> run = mb.simulate(policy, channel, instance, horizon=10**6, runs=10, seed=7)
    >>> run.loss.epsilon(), run.regret.shape == (10, run.t.size)
    (0.5, True)

Names are imported when they are first used, so importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Bernoulli": "lab.instances",
    "Beta": "lab.instances",
    "ClippedGaussian": "lab.instances",
    "Decision": "core",
    "Ledger": "privacy.ledger",
    "LinearContexts": "lab.contexts",
    "Loss": "privacy.loss",
    "Newsroom": "lab.newsroom",
    "RecordedLog": "lab.logs",
    "Release": "core",
    "backends": "",
    "channels": "",
    "delays": "lab.delays",
    "errors": "",
    "identify": "lab.identification",
    "kernel": "core",
    "noises": "",
    "policies": "",
    "replay": "lab.replay",
    "simulate": "lab.simulation",
    "theory": "",
    "uniform_means": "lab.instances",
}
__all__ = sorted(_HOME)

if TYPE_CHECKING:
    from maskedbandit import backends, channels, errors, noises, policies, theory
    from maskedbandit.core import Decision, Release, kernel
    from maskedbandit.lab import delays
    from maskedbandit.lab.contexts import LinearContexts
    from maskedbandit.lab.identification import identify
    from maskedbandit.lab.instances import Bernoulli, Beta, ClippedGaussian, uniform_means
    from maskedbandit.lab.logs import RecordedLog
    from maskedbandit.lab.newsroom import Newsroom
    from maskedbandit.lab.replay import replay
    from maskedbandit.lab.simulation import simulate
    from maskedbandit.privacy.ledger import Ledger
    from maskedbandit.privacy.loss import Loss


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'maskedbandit' has no attribute {name!r}")
    if not _HOME[name]:
        return import_module(f"maskedbandit.{name}")
    module = import_module(f"maskedbandit.{_HOME[name]}")
    return getattr(module, name, module)  # a name that no module holds is that of the module


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
