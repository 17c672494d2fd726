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
    "Bernoulli": "lab.worlds.bernoulli",
    "Beta": "lab.worlds.beta",
    "ClippedGaussian": "lab.worlds.clipped_gaussian",
    "Decision": "core",
    "Ledger": "privacy.ledger",
    "LinearContexts": "lab.worlds.linear_contexts",
    "Loss": "privacy.loss",
    "Newsroom": "lab.logs.newsroom",
    "RecordedLog": "lab.logs.recorded_log",
    "Release": "core",
    "backends": "",
    "channels": "",
    "delays": "lab",
    "errors": "",
    "identify": "lab.goals.identify.identify",
    "kernel": "core",
    "noises": "",
    "policies": "",
    "replay": "lab.goals.replay.replay",
    "simulate": "lab.goals.regret.simulate",
    "theory": "",
    "uniform_means": "lab.worlds.named_means",
}
_ROOMS = ("backends", "channels", "delays", "errors", "noises", "policies", "theory")  # these are modules
__all__ = sorted(_HOME)

if TYPE_CHECKING:
    from maskedbandit import backends, channels, errors, noises, policies, theory
    from maskedbandit.core import Decision, Release, kernel
    from maskedbandit.lab import delays
    from maskedbandit.lab.goals.identify.identify import identify
    from maskedbandit.lab.goals.regret.simulate import simulate
    from maskedbandit.lab.goals.replay.replay import replay
    from maskedbandit.lab.logs.newsroom import Newsroom
    from maskedbandit.lab.logs.recorded_log import RecordedLog
    from maskedbandit.lab.worlds.bernoulli import Bernoulli
    from maskedbandit.lab.worlds.beta import Beta
    from maskedbandit.lab.worlds.clipped_gaussian import ClippedGaussian
    from maskedbandit.lab.worlds.linear_contexts import LinearContexts
    from maskedbandit.lab.worlds.named_means import uniform_means
    from maskedbandit.privacy.ledger import Ledger
    from maskedbandit.privacy.loss import Loss


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'maskedbandit' has no attribute {name!r}")
    home = import_module(f"maskedbandit.{_HOME[name]}".rstrip("."))
    if name in _ROOMS:
        return import_module(f"{home.__name__}.{name}")
    return getattr(home, name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
