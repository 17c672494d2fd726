"""An audit: the promise of a target, the privacy loss that was shown, and whether its broken twins were caught.

An audit has parts, each about one promise and made by one method. A part has controls: broken twins of the audited
object. If the part does not catch them, it proves nothing.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

import numpy as np

from maskedbandit import __version__
from maskedbandit.core import Floats

AUDIT_FORMAT = "maskedbandit audit 1"
ERROR = 1e-5  # the probability with which a sound target is found to be broken, of each part
AUDIT_ROUNDING = 1e-6  # relative, of probabilities that are added up in floating point
Advance = Callable[[int], object]


class How(NamedTuple):
    """How an audit is made: the number of people in a cohort, and the number of samples where something is sampled."""

    people: int = 4
    samples: int | None = None  # as many as epsilon demands
    error: float = ERROR
    seed: int = 1
    advance: Advance = lambda n: None


USUAL_AUDIT = How()


class AuditPromise(NamedTuple):
    """The promise to one person."""

    epsilon: float
    delta: float = 0.0

    def __str__(self) -> str:
        return f"ε = {self.epsilon:.4g}" + (f" at δ = {self.delta:.3g}" if self.delta else "")


class BrokenTwin(NamedTuple):
    """A broken twin: a lower bound on its loss, and whether this bound exceeds its promise."""

    twin: str
    lower_bound: float
    caught: bool


@dataclass(frozen=True)
class AuditPart:
    """One promise, and the loss that was shown. `error` is the probability with which a sampled bound is wrong."""

    part: str
    promised: AuditPromise
    method: Literal["exact", "sampled"]
    lower_bound: float
    controls: tuple[BrokenTwin, ...]
    samples: int = 0
    error: float = 0.0
    event: str = ""  # that tells the neighbours apart
    curve: Floats = field(default_factory=lambda: np.zeros((2, 0)), repr=False, compare=False)
    corner: tuple[float, float] | None = None  # false positives and negatives at most, of the event that was chosen
    twin_curve: Floats = field(default_factory=lambda: np.zeros((2, 0)), repr=False, compare=False)

    @property
    def violation(self) -> bool:
        """Whether the promise is broken."""
        return breaks_promise(self.lower_bound, self.promised, self.method)

    @property
    def weakest(self) -> BrokenTwin:
        """The broken twin that was the hardest to catch."""
        return min(self.controls, key=lambda each: each.lower_bound)

    @property
    def proves(self) -> bool:
        """Whether all broken twins were caught."""
        return bool(self.controls) and all(each.caught for each in self.controls)

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "part": self.part,
            "promised": promise_for_programs(self.promised),
            "method": self.method,
            "samples": self.samples,
            "confidence": 1 - self.error,
            "lower_bound": finite(self.lower_bound),
            "violation": self.violation,
            "event": self.event,
            "controls": [control(each) for each in self.controls],
        }


@dataclass(frozen=True)
class Audit:
    """The result of an audit."""

    target: str
    parts: tuple[AuditPart, ...]
    error: float  # the probability with which any sampled bound is wrong, also of what was left out
    protocol: str | None = None
    left_out: tuple[str, ...] = ()  # what was not audited, and why
    date: str = field(default_factory=lambda: datetime.now(UTC).date().isoformat())

    @property
    def violation(self) -> bool:
        """Whether any promise is broken."""
        return any(part.violation for part in self.parts)

    @property
    def proves(self) -> bool:
        """Whether all broken twins were caught."""
        return bool(self.parts) and all(part.proves for part in self.parts)

    @property
    def worst(self) -> AuditPart:
        """The part that comes nearest to its promise, or exceeds it most."""
        return max(self.parts, key=lambda part: part.lower_bound - part.promised.epsilon)

    @property
    def weakest(self) -> BrokenTwin:
        """The broken twin that was the hardest to catch."""
        found = [(part.weakest.lower_bound - part.promised.epsilon, part.weakest) for part in self.parts]
        return min(found, key=lambda each: each[0])[1]

    def to_dict(self) -> dict[str, Any]:
        """Everything, for programs; docs/audit.md says what the fields are."""
        sampled = any(part.method == "sampled" for part in self.parts)
        return {
            "format": AUDIT_FORMAT,
            "version": __version__,
            "target": self.target,
            "protocol": self.protocol,
            "date": self.date,
            "promised": promise_for_programs(self.worst.promised),
            "method": "sampled" if sampled else "exact",
            "samples": sum(part.samples for part in self.parts),
            "confidence": 1 - self.error,
            "lower_bound": finite(self.worst.lower_bound),
            "violation": self.violation,
            "control": control(self.weakest),
            "parts": [part.to_dict() for part in self.parts],
            "left_out": list(self.left_out),
        }

    def __str__(self) -> str:
        return "\n".join(write_audit_lines(self))


def breaks_promise(lower_bound: float, promise: AuditPromise, method: str) -> bool:
    """Whether the shown loss breaks a promise; if it was enumerated, by more than rounding."""
    return lower_bound > promise.epsilon * (1 + (AUDIT_ROUNDING if method == "exact" else 0.0))


def finite(epsilon: float) -> float | None:
    """The number, or None for infinity, which JSON does not have."""
    return epsilon if math.isfinite(epsilon) else None


def promise_for_programs(promise: AuditPromise) -> dict[str, Any]:
    """A promise, for programs."""
    return {"epsilon": finite(promise.epsilon), "delta": promise.delta}


def control(found: BrokenTwin) -> dict[str, Any]:
    """A control, for programs."""
    return {"twin": found.twin, "lower_bound": finite(found.lower_bound), "caught": found.caught}


def write_audit_lines(audit: Audit) -> Iterator[str]:
    """An audit in words."""
    yield f"audit of {audit.target}"
    for part in audit.parts:
        yield ""
        how = "enumerated" if part.method == "exact" else f"{part.samples:,} samples"
        yield f"{part.part} ({how})"
        yield f"  promised     {part.promised}"
        found = "ε is" if part.method == "exact" else "ε is at least"
        verdict = "BROKEN" if part.violation else "kept"
        yield f"  shown        {found} {part.lower_bound:.4g}: the promise is {verdict}"
        if part.event:
            yield f"  told by      {part.event}"
        for each in part.controls:
            caught = "caught" if each.caught else "NOT CAUGHT: this part proves nothing"
            yield f"  control      {each.twin}: {found} {each.lower_bound:.4g}, {caught}"
    for why in audit.left_out:
        yield f"\nnot audited: {why}"
    yield ""
    if audit.error:
        yield f"A sound target is found to be broken with a probability of at most {audit.error:.2g}."
    if not audit.proves:
        yield "A broken twin was not caught: this audit proves nothing."
    elif audit.violation:
        yield "A promise is broken."
    else:
        rest = " of what was audited" if audit.left_out else ""
        yield f"Every promise{rest} is kept, as far as this can show, and every broken twin was caught."
