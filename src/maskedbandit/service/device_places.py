"""What a person's device is handed, unless the server is trusted: docs/devices.md says what becomes of it."""

from typing import Any

from maskedbandit.channels.channel import find_backend
from maskedbandit.channels.offers import to_lines
from maskedbandit.secagg.round_rules import AgreedRounds
from maskedbandit.service.messages import DeviceOperator, DeviceOutcome, DevicePlace, DeviceTerms, PlaceRounds
from maskedbandit.store.requests import Assigned
from maskedbandit.store.study import Study


def describe_device_place(study: Study, arm: str, given: Assigned) -> DevicePlace:
    """The place of a person in such a study, with all that the device checks before it joins."""
    protocol, reward = study.protocol, study.protocol.reward
    assert given.ticket is not None
    return DevicePlace(
        study=study.name,
        arm=arm,
        ticket=given.ticket,
        again=given.again,
        exposed=given.seen,
        offer=to_lines(given.offers),
        terms=DeviceTerms(protocol.digest, given.cohort),
        window=reward.window,
        grace=reward.grace,
        least=reward.least,
        most=reward.most,
        default=reward.default,
        cap=reward.cap,
        further=[
            DeviceOutcome(each.metric, each.reward.least, each.reward.most, each.reward.default, each.reward.cap)
            for each in protocol.outcomes[1:]
        ],
        operators=list_operators(study),
        rounds=describe_place_rounds(study),
    )


def describe_place_rounds(study: Study) -> PlaceRounds | None:
    """What devices agree on that add up by themselves."""
    if study.protocol.rounds is None:
        return None
    backend: Any = find_backend(study.protocol.channel)
    return PlaceRounds(**AgreedRounds(backend.rules, backend.attempts).to_table())


def list_operators(study: Study) -> list[DeviceOperator] | None:
    """The leader and the helper, with their keys, if the study has two operators."""
    named = study.protocol.operators
    if named is None:
        return None
    both = zip((named.leader, named.helper), study.operators, strict=True)
    return [DeviceOperator(each.name, keys.seals.hex(), keys.signs.hex(), each.address) for each, keys in both]
