"""The targets of audits: a channel, alone or under a policy; a study's protocol; an experiment; a running service.

A part whose broken twin is not caught would prove nothing. It is left out, and the audit says so, unless it is the only
part, or found that a promise is broken.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from maskedbandit.channels.channel import Channel, find_backend
from maskedbandit.channels.tree import Tree
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.goals.setting import Setting
from maskedbandit.policies.contextual_policy import ContextualPolicy
from maskedbandit.policies.policy import Policy
from maskedbandit.reports.audit.audit import Audit, AuditPart, How
from maskedbandit.reports.audit.exact import exact_part, fit_cohort_size
from maskedbandit.reports.audit.policies import decisions_part, run_part
from maskedbandit.reports.audit.samples import live_part
from maskedbandit.reports.audit.trees import tree_part
from maskedbandit.study.protocol import Protocol

if TYPE_CHECKING:  # it needs more than an audit of a service
    from maskedbandit.lab.experiments.experiment import Experiment

MOST_LIVE = 16  # people in an audited cohort
ALL_OUTCOMES = (
    "all outcomes together, enumerated: each has a channel of its own here, and costs what it promises, added up"
)
FoundPart = tuple[AuditPart | None, str]  # a part, or what was not audited and why, or both


def describe_part(part: Any) -> str:
    """A channel or a policy in one line: its name, and the parameters that are not the default."""
    kind = type(part)
    fields = getattr(part, "__dataclass_fields__", {})
    given = []
    for name in fields:
        value = getattr(part, name)
        if not fields[name].repr:
            continue
        try:
            standard = getattr(kind(), name)
        except TypeError:
            standard = None
        if name == "epsilon" or value != standard:
            given.append(f"{name} = {describe_part(value) if hasattr(value, '__dataclass_fields__') else value}")
    return f"{kind.__name__}({', '.join(given)})" if given else kind.__name__


def join_audits(target: str, found: Iterable[FoundPart], protocol: str | None = None) -> Audit:
    """An audit of these parts."""
    parts, weak, left_out, error = list[AuditPart](), list[AuditPart](), list[str](), 0.0
    for part, why in found:
        left_out += [why] if why and why not in left_out else []
        if part is not None:
            error += part.error
            (parts if part.proves or part.violation else weak).append(part)
    if not any(part.proves for part in parts):
        parts, weak = [*parts, *weak], []
    left_out += [
        f"{part.part}: {part.samples:,} samples show an ε of {part.lower_bound:.3g} at least, and would show no more "
        f"than {part.weakest.lower_bound:.3g} of a broken twin ({part.weakest.twin}); {part.promised} is promised"
        for part in weak
    ]
    if not parts:
        raise InvalidValue("target", target, f"one that can be audited; not audited are: {'; '.join(left_out)}")
    return Audit(target, tuple(parts), error, protocol, tuple(left_out))


def of_channel(channel: Channel, how: How) -> list[FoundPart]:
    """The release of a channel: enumerated, and sampled as in a live study."""
    if channel.trust == "none":
        raise InvalidValue("channel", describe_part(channel), "one that promises privacy")
    try:
        n = fit_cohort_size(channel, how.people)
    except InvalidValue as why:
        return [(None, f"{describe_part(channel)}: {why}")]
    found = [tree_part(channel) if isinstance(channel, Tree) else exact_part(channel, n)]
    if n > max(MOST_LIVE, how.people):
        found.append((None, f"cohorts of {describe_part(channel)}, live: they have {n} people at least"))
    else:
        found.append(live_part(channel, n, how))
    if (backend := find_backend(channel)) is not None:
        found.append((None, f"{type(backend).__name__}, the protocol behind the sum: here the sum is an ideal one"))
    return found


def of_policy(policy: Policy, channel: Channel, how: How, decisions: bool = True) -> list[FoundPart]:
    """A policy on a channel: whole runs, and the loss that their decisions show."""
    if isinstance(policy, ContextualPolicy):
        return [(None, f"{type(policy).__name__}: runs with contexts")]
    if lacks := policy.needs(channel.law()):
        raise InvalidValue("channel", describe_part(channel), f"one that gives {type(policy).__name__} {lacks}")
    found: list[FoundPart] = [] if channel.trust == "none" else [run_part(policy, channel)]
    if decisions:
        found.append(decisions_part(policy, channel, how))
    return found


def audit_channel(channel: Channel, policy: Policy | None, how: How) -> Audit:
    """An audit of a channel, alone or under a policy."""
    if policy is None:
        return join_audits(describe_part(channel), of_channel(channel, how))
    found = of_policy(policy, channel, how)
    if channel.trust != "none":
        found = [*of_channel(channel, how), *found]
    return join_audits(f"{describe_part(policy)} on {describe_part(channel)}", found)


def audit_protocol(protocol: Protocol, how: How) -> Audit:
    """An audit of a study's protocol: of its channel, and of the service, run in this process, with that channel."""
    from maskedbandit.reports.audit.over_http import (
        start_own_service,  # what a service needs is not installed everywhere
    )
    from maskedbandit.reports.audit.services import service_parts

    async def through_own_service() -> list[AuditPart]:
        async with start_own_service() as service:
            return await service_parts(service, protocol, how)

    found = [*of_channel(protocol.channel, how), *of_policy(protocol.policy, protocol.channel, how, decisions=False)]
    for outcome in protocol.outcomes[1:]:
        found += [*of_channel(outcome.channel, how), (None, ALL_OUTCOMES)]
    if protocol.operators is not None:
        second = "shuffler" if protocol.shuffled else "helper"
        found.append((None, f"the service: no {second} is run in this process; audit a running service, by its url"))
    elif protocol.sites is not None:
        found.append((None, "the service: no sites are run in this process, and no outcome comes to it from them"))
    elif protocol.rounds is not None:
        found.append((None, "the service: no devices are run in this process, and no outcome comes to it from them"))
    else:
        try:
            found += [(part, "") for part in asyncio.run(through_own_service())]
        except InvalidValue as why:
            found.append((None, f"the service: {why}"))
    return join_audits(f"the protocol of {protocol.name}: {describe_part(protocol.channel)}", found, protocol.digest)


def audit_service(url: str, key: str, study: str | None, how: How, officer: str | None = None) -> Audit:
    """An audit of a running service, and of the channel of one of its studies; `officer` is the key of an officer."""
    from maskedbandit.reports.audit.over_http import reach_service
    from maskedbandit.reports.audit.services import audited_protocol, service_parts

    async def through_the_service() -> tuple[Protocol, list[AuditPart]]:
        async with reach_service(url, key, officer) as service:
            protocol = await audited_protocol(service, study)
            parts = await service_parts(service, protocol, how)
            return protocol, parts

    protocol, parts = asyncio.run(through_the_service())
    found: Sequence[FoundPart] = [
        *[(part, "") for part in parts],
        exact_part(protocol.channel, fit_cohort_size(protocol.channel, how.people)),
    ]
    target = f"{protocol.name} on the service at {url}: {describe_part(protocol.channel)}"
    return join_audits(target, found, protocol.digest)


def audit_experiment(experiment: Experiment, how: How) -> Audit:
    """An audit of all channels of an experiment."""
    pairs, channels, found = list[tuple[Any, Channel]](), list[Channel](), list[FoundPart]()
    for setting in experiment.settings:
        if isinstance(setting, Setting) and (setting.policy, setting.channel) not in pairs:
            pairs.append((setting.policy, setting.channel))
            if setting.channel.trust == "none":
                continue
            name = describe_part(setting.channel)
            if setting.channel not in channels:
                channels.append(setting.channel)
                found += [renamed(each, name) for each in of_channel(setting.channel, how)]
            name = f"{describe_part(setting.policy)} on {name}"
            found += [renamed(each, name) for each in of_policy(setting.policy, setting.channel, how, decisions=False)]
    return join_audits(f"the experiment {experiment.name}", found)


def renamed(found: FoundPart, name: str) -> FoundPart:
    """A part with another name."""
    part, why = found
    return part and replace(part, part=f"{name}: {part.part}"), why
