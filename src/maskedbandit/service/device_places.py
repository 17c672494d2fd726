"""What a person's device is handed in a study of two operators: docs/devices.md says what it does with it."""

from maskedbandit.service.messages import DeviceOperator, DevicePlace, DeviceTerms
from maskedbandit.store.requests import Assigned
from maskedbandit.store.study import Study


def describe_device_place(study: Study, arm: str, given: Assigned) -> DevicePlace:
    """The place of a person in such a study, with all that the device checks before it joins."""
    protocol, reward = study.protocol, study.protocol.reward
    named, (offer,) = protocol.operators, given.offers
    assert named is not None
    assert given.ticket is not None
    assert given.cohort is not None
    return DevicePlace(
        study=study.name,
        arm=arm,
        ticket=given.ticket,
        again=given.again,
        exposed=given.seen,
        offer=offer.to_text(),
        terms=DeviceTerms(protocol.digest, given.cohort),
        operators=[
            DeviceOperator(each.name, keys.seals.hex(), keys.signs.hex(), each.address)
            for each, keys in zip((named.leader, named.helper), study.operators, strict=True)
        ],
        window=reward.window,
        grace=reward.grace,
        least=reward.least,
        most=reward.most,
        default=reward.default,
    )
