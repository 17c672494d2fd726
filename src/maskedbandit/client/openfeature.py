"""The service behind OpenFeature: flags are studies, the targeting key is the unit, and `track` reports outcomes."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import (
    FlagNotFoundError,
    GeneralError,
    InvalidContextError,
    ProviderNotReadyError,
    TargetingKeyMissingError,
    TypeMismatchError,
)
from openfeature.flag_evaluation import FlagResolutionDetails, FlagValueType, Reason
from openfeature.provider import AbstractProvider, Metadata
from openfeature.track import TrackingEventDetails

from maskedbandit.client.answers import STUDY_PATTERN, Assigned, Refusal, Reply
from maskedbandit.client.calls import Transport
from maskedbandit.client.clients import ASSIGN_DEADLINE, LAST_TRY
from maskedbandit.client.engine import LONGEST_EVENT, Engine
from maskedbandit.errors import Forbidden, MaskedBanditError, PersonalValue, Refused, UnknownStudy
from maskedbandit.person_attributes import pick_attributes

if TYPE_CHECKING:
    from maskedbandit.channels.channel import Channel

EXPOSED = "exposed"  # the event that says that the arm was seen, and is no outcome
log = logging.getLogger("maskedbandit.client")


@final
class MaskedBanditProvider(AbstractProvider):
    """Evaluates flags as studies of a service.

    The value of a flag is the payload of the person's arm, or the arm's name if it has none. The arm is the variant;
    `flag_metadata` has the ticket, or `why` there is none, the propensity and whether the person came before.
    Evaluating a flag enrols the person; use it where the arm is shown.

    * `expose_on_evaluation`: evaluating says too that the arm was seen. Otherwise `track("exposed", context)` does.
    * `outcomes`: for each study the name of the event whose value is its outcome; other studies take all events.
    * `metrics`: for each study that has some the names of its guardrail and metrics: events so called are for these.
    * A `token` among the attributes of the context is the application's signature of the person; texts, numbers and
      booleans besides are what the rules of a study on who is enrolled are about.
    * `channels`: for each study of local trust the channel to which people agreed.

    The others are those of `Client`.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        expose_on_evaluation: bool = True,
        outcomes: Mapping[str, str] | None = None,
        metrics: Mapping[str, Collection[str]] | None = None,
        deadline: float = ASSIGN_DEADLINE,
        folder: str | Path | None = None,
        channels: Mapping[str, Channel] | None = None,
        on_refused: Callable[[Refusal], None] | None = None,
        transport: Transport | None = None,
    ) -> None:
        super().__init__()
        self._exposes, self._outcomes = expose_on_evaluation, dict(outcomes or {})
        self._metrics = {study: frozenset(names) for study, names in (metrics or {}).items()}
        self._engine = Engine(
            url,
            key,
            None,
            deadline=deadline,
            folder=folder,
            channels=dict(channels or {}),
            on_refused=on_refused,
            transport=transport,
        )

    def get_metadata(self) -> Metadata:
        return Metadata(name="Masked Bandit")

    def shutdown(self) -> None:
        """Try to send what waits, and stop. What still waits is sent at the next start."""
        self._engine.close(LAST_TRY)

    def flush(self, timeout: float = 10.0) -> bool:
        """Try to send what waits; whether nothing waits any more."""
        return self._engine.flush(timeout)

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        """Report the value of the event, or 1, in every study in which the person has a place.

        Each call is an event of its own, which counts once however often it is sent. With an `event_id` among the
        attributes of the details, calls with the same one are one event.
        """
        unit = evaluation_context.targeting_key if evaluation_context else None
        if not unit:
            log.warning("an event without a targeting key is dropped")
            return
        details = tracking_event_details or TrackingEventDetails()
        given = details.attributes.get("event_id")
        event = _event(tracking_event_name, uuid.uuid4().hex if given is None else str(given))
        value = 1.0 if details.value is None else details.value
        try:
            places = self._engine.places(unit)
        except MaskedBanditError as why:  # OpenFeature promises applications that tracking does not fail
            log.error("an event is dropped: %s", why)
            return
        for study, ticket in places:
            try:
                self._tell(study, ticket, tracking_event_name, value, event)
            except MaskedBanditError as why:  # of this study alone: others may take it
                log.error("an event is dropped: %s", why)

    def _tell(self, study: str, ticket: str, name: str, value: float, event: str) -> None:
        """Say to a study what it is to know of an event."""
        if name == EXPOSED:
            self._engine.expose(study, ticket)
        elif name in self._metrics.get(study, ()):
            self._engine.report(study, ticket, value, event, name)
        elif self._outcomes.get(study, name) == name:
            self._engine.report(study, ticket, value, event)

    def _ask(self, study: str, context: EvaluationContext | None) -> Any:
        unit = context.targeting_key if context else None
        if not unit:
            raise TargetingKeyMissingError("the targeting key is the person, and is needed")
        if not STUDY_PATTERN.fullmatch(study):
            raise FlagNotFoundError("a flag has the name of a study, of letters, digits, '_', '.' and '-'")
        token = context.attributes.get("token") if context else None
        try:
            said = pick_attributes(context.attributes, "token") if context else None
            return unit, self._engine.ask(study, unit, token if isinstance(token, str) else None, said)
        except PersonalValue as why:
            raise InvalidContextError(str(why)) from None

    def _resolve(self, study: str, unit: str, reply: Reply, types: tuple[type, ...]) -> FlagResolutionDetails[Any]:
        try:
            given = self._engine.settle(study, unit, reply, fallback="")
        except (Forbidden, UnknownStudy) as why:  # the key may be for another study
            raise FlagNotFoundError(str(why)) from None
        except Refused as why:
            raise GeneralError(str(why)) from None
        if not given.arm:
            raise ProviderNotReadyError(f"the service gives no arm ({given.why}), and none is known from before")
        value = _value(given, *types)
        if self._exposes:
            self._expose(study, given.ticket)
        metadata: dict[str, bool | int | float | str] = {"again": given.again, "source": given.source}
        if given.ticket is not None:
            metadata["ticket"] = given.ticket
        if given.propensity is not None:
            metadata["propensity"] = str(given.propensity)
        if given.why:
            metadata["why"] = given.why
        reason = Reason.STALE if given.source == "fallback" else Reason.SPLIT if given.ticket else Reason.STATIC
        return FlagResolutionDetails(value=value, variant=given.arm, reason=reason, flag_metadata=metadata)

    def _expose(self, study: str, ticket: str | None) -> None:
        try:
            self._engine.expose(study, ticket)
        except MaskedBanditError as why:  # the person can be served all the same
            log.error("an exposure is dropped: %s", why)

    def _now(self, study: str, context: EvaluationContext | None, *types: type) -> FlagResolutionDetails[Any]:
        unit, asked = self._ask(study, context)
        return self._resolve(study, unit, asked.result(), types)

    async def _soon(self, study: str, context: EvaluationContext | None, *types: type) -> FlagResolutionDetails[Any]:
        unit, asked = self._ask(study, context)
        return await asyncio.to_thread(self._resolve, study, unit, await asyncio.wrap_future(asked), types)

    # for each type twice, as OpenFeature asks for

    def resolve_boolean_details(
        self, flag_key: str, default_value: bool, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[bool]:
        return self._now(flag_key, evaluation_context, bool)

    async def resolve_boolean_details_async(
        self, flag_key: str, default_value: bool, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[bool]:
        return await self._soon(flag_key, evaluation_context, bool)

    def resolve_string_details(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        return self._now(flag_key, evaluation_context, str)

    async def resolve_string_details_async(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        return await self._soon(flag_key, evaluation_context, str)

    def resolve_integer_details(
        self, flag_key: str, default_value: int, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[int]:
        return self._now(flag_key, evaluation_context, int)

    async def resolve_integer_details_async(
        self, flag_key: str, default_value: int, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[int]:
        return await self._soon(flag_key, evaluation_context, int)

    def resolve_float_details(
        self, flag_key: str, default_value: float, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[float]:
        return self._now(flag_key, evaluation_context, int, float)

    async def resolve_float_details_async(
        self, flag_key: str, default_value: float, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[float]:
        return await self._soon(flag_key, evaluation_context, int, float)

    def resolve_object_details(
        self,
        flag_key: str,
        default_value: Sequence[FlagValueType] | Mapping[str, FlagValueType],
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[Sequence[FlagValueType] | Mapping[str, FlagValueType]]:
        return self._now(flag_key, evaluation_context, list, dict)

    async def resolve_object_details_async(
        self,
        flag_key: str,
        default_value: Sequence[FlagValueType] | Mapping[str, FlagValueType],
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[Sequence[FlagValueType] | Mapping[str, FlagValueType]]:
        return await self._soon(flag_key, evaluation_context, list, dict)


def _event(name: str, id: str) -> str:
    """The name under which the service knows an event, of as many characters as it takes."""
    event = f"{name}:{id}"
    return event if len(event) <= LONGEST_EVENT and event.isprintable() else sha256(event.encode()).hexdigest()


def _value(given: Assigned, *types: type) -> Any:
    """The payload of an arm, or its name, if it is of one of these types, and of no other, as is True of int."""
    value = given.arm if given.payload is None else given.payload
    if type(value) not in types:
        raise TypeMismatchError("the arm has no payload of this type")
    return float(value) if float in types else value  # JSON does not tell 1 from 1.0
