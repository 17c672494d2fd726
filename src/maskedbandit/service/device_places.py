"""What a person's device is handed under local trust and by two operators: docs/devices.md says what becomes of it."""

from maskedbandit.channels.offers import to_lines
from maskedbandit.service.messages import DeviceOperator, DeviceOutcome, DevicePlace, DeviceTerms
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
    )


def list_operators(study: Study) -> list[DeviceOperator] | None:
    """The leader and the helper, with their keys, if the study has two operators."""
    named = study.protocol.operators
    if named is None:
        return None
    both = zip((named.leader, named.helper), study.operators, strict=True)
    return [DeviceOperator(each.name, keys.seals.hex(), keys.signs.hex(), each.address) for each, keys in both]
