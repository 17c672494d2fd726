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
from typing import Any

from maskedbandit.errors import UnknownName

__version__ = "0.1.0"

# Where each name is defined. Type checkers read `__init__.pyi`, which `make golden` writes from these two tables.
_MODULES = {
    "backends": "backends",
    "channels": "channels",
    "delays": "lab.delays",
    "errors": "errors",
    "noises": "noises",
    "policies": "policies",
    "theory": "theory",
    "worlds": "lab.worlds",
}
_HOME = {
    "Bernoulli": "lab.worlds.bernoulli",
    "Beta": "lab.worlds.beta",
    "Changing": "lab.worlds.changing",
    "ClippedGaussian": "lab.worlds.clipped_gaussian",
    "CountingQuery": "privacy.counting",
    "Decision": "core",
    "Drifting": "lab.worlds.drifting",
    "FrameLog": "lab.logs.frame_log",
    "LaplaceMechanism": "privacy.counting",
    "Ledger": "privacy.budget",
    "LinearContexts": "lab.worlds.linear_contexts",
    "LogisticContexts": "lab.worlds.logistic_contexts",
    "Loss": "privacy.loss",
    "Newsroom": "lab.logs.newsroom",
    "Policy": "policies.policy",
    "RecordedLog": "lab.logs.recorded_log",
    "Release": "core",
    "Visits": "lab.worlds.visits",
    "answer": "lab.goals.answer.answer",
    "compare": "lab.goals.compare",
    "estimate": "reports.estimate.estimate",
    "identify": "lab.goals.identify.identify",
    "kernel": "core",
    "plan": "reports.plan.plan",
    "plan_sites": "reports.plan.sites",
    "queries_affordable": "privacy.counting",
    "queries_limit": "privacy.counting",
    "replay": "lab.goals.replay.replay",
    "returning_users": "privacy.repeated_batches",
    "select": "lab.goals.select.select",
    "sign_person": "study.signatures",
    "simulate": "lab.goals.regret.simulate",
    "uniform_means": "lab.worlds.named_means",
    "users_needed": "privacy.counting",
}
__all__ = sorted([*_MODULES, *_HOME])


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"maskedbandit.{_MODULES[name]}")
    if name in _HOME:
        return getattr(import_module(f"maskedbandit.{_HOME[name]}"), name)
    if name.startswith("_"):  # what tools ask any object for: nobody has misspelled a name
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise AttributeError(str(UnknownName("attribute of maskedbandit", name, __all__)))


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
