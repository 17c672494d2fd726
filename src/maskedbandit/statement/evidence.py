"""What stands behind a statement: tests by their names, audits by their reports, and what was used."""

import platform
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from maskedbandit import __version__
from maskedbandit.channels.channel import Channel
from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.loss import Loss
from maskedbandit.statement.content import Audited, Evidence, Tested, Version
from maskedbandit.words import one_line

EVIDENCE_ROUNDING = 1e-6  # by which what was enumerated may be above what is promised
TESTS_OF_CHANNELS = {  # what is claimed of some channels alone, by the name of the class
    "Response": ["tests/channels/test_response.py::test_the_log_ratio_of_a_bit_is_the_loss"],
    "Shuffled": ["tests/channels/test_shuffled.py::TestAudit::test_a_release_costs_no_more_than_is_said"],
    "SplitAndMix": ["tests/channels/test_split_and_mix.py::TestLoss::test_what_is_seen_of_neighbours"],
    "PureShuffled": ["tests/channels/test_pure_shuffled.py::TestLoss::test_is_epsilon_exactly"],
    "TwoServers": ["tests/channels/test_two_servers.py::TestLoss::test_one_draw_costs_epsilon"],
    "CentralSum": ["tests/channels/test_central_sum.py::test_the_server_adds_one_draw"],
    "LocalSum": [
        "tests/channels/test_local_sum.py::TestMessage::test_costs_what_it_costs_under_local_trust",
        "tests/channels/test_local_sum.py::TestSum::test_its_loss_bounds_the_residues_of_the_fewest_honest",
    ],
    "Tree": ["tests/audit/test_trees.py::test_no_view_tells_more_than_epsilon"],
}
TESTS_OF_RELEASES = (
    Tested(
        "The noise hides one outcome as well as is stated.",
        [
            "tests/audit/test_mechanisms.py::test_pure_losses_are_exact",
            "tests/audit/test_mechanisms.py::test_other_losses_are_enough",
            "tests/audit/test_mechanisms.py::test_broken_mechanisms_cost_more_than_they_claim",
        ],
    ),
    Tested(
        "An outcome is in one release at most, noise is drawn once, and no unfinished cohort is released.",
        [
            "tests/audit/test_policies.py::test_a_reward_enters_one_release",
            "tests/audit/test_policies.py::test_a_release_has_one_draw_of_noise",
            "tests/audit/test_policies.py::test_an_unfinished_cohort_is_not_released",
        ],
    ),
    Tested(
        "Decisions show no more than is stated.",
        ["tests/audit/test_decisions.py::test_decisions_show_no_more_than_the_loss"],
    ),
    Tested(
        "Losses add up, and are rounded upwards.",
        [
            "tests/privacy/test_loss.py::test_addition_is_a_commutative_monoid",
            "tests/privacy/test_loss.py::test_epsilon_is_rounded_outwards_and_hardly",
        ],
    ),
    Tested(
        "Noise is made without floating point, from the operating system's random numbers.",
        [
            "tests/test_floatfree.py::test_protocols_are_free_of_floats_and_seeds",
            "tests/channels/test_noisy.py::test_devices_use_no_float",
        ],
    ),
)
TESTS_OF_STORAGE = (
    Tested(
        "Nobody exceeds the budget, in whatever order charges come.",
        [
            "tests/privacy/test_ledger.py::test_no_adversary_exceeds_the_budget",
            "tests/store/test_races.py::test_processes_cannot_overspend_and_lose_no_charge",
        ],
    ),
    Tested(
        "What was not released changes nothing that anybody sees.",
        [
            "tests/service/test_canary.py::test_reports_that_were_not_released_change_nothing_that_is_said",
            "tests/store/test_privacy.py::test_a_report_does_not_decide_who_is_in_a_cohort",
        ],
    ),
    Tested(
        "A release is made once, whatever crashes, and a restored copy is noticed.",
        [
            "tests/store/test_crash.py::test_few_kills",
            "tests/store/test_machine.py::test_all_that_can_happen_to_a_study",
            "tests/store/test_reconcile.py::test_a_restored_copy_is_refused_by_everything",
        ],
    ),
    Tested(
        "A change of what is stored, or of this statement, is found.",
        [
            "tests/store/test_tampering.py::test_a_change_is_found",
            "tests/statement/test_check.py::test_a_statement_that_the_ledger_contradicts_is_refused",
        ],
    ),
)


class AuditControl(Struct, frozen=True):
    """The broken twin that an audit has to catch."""

    twin: str
    lower_bound: float | None
    caught: bool


class AuditedPromise(Struct, frozen=True):
    """What an audit put to the test."""

    epsilon: float | None
    delta: float


class AuditedPart(Struct, frozen=True):
    """A part of an audit, which has a promise of its own."""

    promised: AuditedPromise
    lower_bound: float | None


class AuditReport(Struct, frozen=True):
    """The report of `maskedbandit audit`, as far as a statement needs it."""

    format: Literal["maskedbandit audit 1"]
    version: str
    target: str
    protocol: str | None
    date: str
    promised: AuditedPromise
    method: str
    samples: int
    confidence: float
    lower_bound: float | None
    violation: bool
    control: AuditControl
    left_out: list[str] = []
    parts: list[AuditedPart] = []


def gather_evidence(
    channels: Sequence[Channel], audits: Sequence[Audited] = (), kept_in: str | None = None
) -> Evidence:
    """The evidence for these channels; the database is named if a study is kept in one."""
    names = dict.fromkeys(type(channel).__name__ for channel in channels)
    own = [
        Tested(f"{name} costs what is stated.", TESTS_OF_CHANNELS[name]) for name in names if name in TESTS_OF_CHANNELS
    ]
    versions = [
        Version("Masked Bandit", __version__),
        Version("Python", platform.python_version()),
        Version("cryptography", version("cryptography")),
    ]
    if kept_in is not None:
        versions.append(Version(*kept_in.split(" ", 1)))
    return Evidence([*own, *TESTS_OF_RELEASES, *(TESTS_OF_STORAGE if kept_in else ())], list(audits), versions)


def read_audit(path: Path, protocol: str | None, lost: Loss) -> Audited:
    """What the report of an audit says, or raise `InvalidValue` if it is no evidence for this protocol.

    A person loses at most `lost`, as the statement says, so an audit that shows more contradicts it.
    """
    text = path.read_bytes()
    try:
        found = msgspec.json.decode(text, type=AuditReport)
    except (msgspec.DecodeError, UnicodeDecodeError) as wrong:
        raise InvalidValue("audit", str(path), f"the report of an audit ({wrong})") from None
    if found.protocol != protocol:
        raise InvalidValue("protocol of the audit", found.protocol, f"that of the statement, {protocol}")
    if found.violation:
        raise InvalidValue("audit", str(path), "one that found no violation: this one says that the promise is broken")
    require("date of the audit", found.date, is_date(found.date), "a date such as 2026-11-22")
    require("samples of the audit", found.samples, found.samples >= 0, "0 or more")
    require("confidence of the audit", found.confidence, 0 <= found.confidence <= 1, "from 0 to 1")
    for each in (AuditedPart(found.promised, found.lower_bound), *found.parts):
        check_part(each, lost)
    control = found.control
    if not control.caught:
        raise InvalidValue("audit", str(path), f"one that caught its broken twin, and not {control.twin!r} alone")
    promises = (found.promised, *(part.promised for part in found.parts))
    least = min(each.epsilon or 0.0 for each in promises)  # the twin may be of any part
    beyond = control.lower_bound is None or control.lower_bound > least
    allowed = f"above the ε that was promised, {least:.4g}, as the twin was caught"
    require("lower_bound of the control of the audit", control.lower_bound, beyond, allowed)
    return Audited(
        one_line(found.target),
        found.protocol,
        found.date,
        one_line(found.version),
        one_line(found.method),
        found.samples,
        found.confidence,
        state_epsilon(found.promised.epsilon, found.promised.delta),
        state_epsilon(found.lower_bound, found.promised.delta),
        f"{one_line(control.twin)}: at least {state_epsilon(control.lower_bound, found.promised.delta)}, so it "
        "was caught",
        [one_line(each) for each in found.left_out],
        sha256(text).hexdigest(),
    )


def check_part(part: AuditedPart, lost: Loss) -> None:
    """Raise `InvalidValue` unless what was shown is no more than this promise, and than what a person loses at most."""
    epsilon, delta, shown = part.promised.epsilon, part.promised.delta, part.lower_bound
    require("delta of the audit", delta, 0 <= delta < 1, "0 or more, and less than 1")
    require("epsilon of the audit", epsilon, epsilon is not None, "one of a promise: this one promises nothing")
    assert epsilon is not None
    require("epsilon of the audit", epsilon, epsilon >= 0, "0 or more")
    within = shown is not None and shown <= epsilon * (1 + EVIDENCE_ROUNDING)
    allowed = "one without a violation: what it has shown is above what was promised"
    require("lower_bound of the audit", shown, within, allowed)
    assert shown is not None
    require("lower_bound of the audit", shown, shown >= 0, "0 or more")
    most = lost.epsilon(delta)
    allowed = f"at most {state_epsilon(most, delta)}, which the statement promises each person"
    require("lower_bound of the audit", shown, shown <= most * (1 + EVIDENCE_ROUNDING), allowed)


def require(name: str, value: object, right: bool, allowed: str) -> None:
    """Raise `InvalidValue` unless a value is right."""
    if not right:
        raise InvalidValue(name, value, allowed)


def is_date(text: str) -> bool:
    """Whether a text is a date as ISO 8601 writes it, with a time or without."""
    try:
        return bool(datetime.fromisoformat(text))
    except ValueError:
        return False


def state_epsilon(epsilon: float | None, delta: float) -> str:
    """An ε and its δ.

    >>> state_epsilon(1.0, 0.0), state_epsilon(None, 1e-6)
    ('ε = 1', 'ε without bound at δ = 1e-06')
    """
    bound = "ε without bound" if epsilon is None else f"ε = {epsilon:.4g}"
    return f"{bound} at δ = {delta:.4g}" if delta else bound
