"""Devices of people, which send their bundle for a place, once its window is over.

They have no key: the pass is a secret of the person. What is answered has one size, whatever came before.
"""

from maskedbandit.service.helping.messages import Hash, PlaceNumber, Signature, Size, Who
from maskedbandit.service.messages import Body, ReportUploaded, StudyLeft
from maskedbandit.service.request.bodies import decode_base64
from maskedbandit.service.request.limits import BATCH
from maskedbandit.service.request.route import Answer, Call, Route, encode_answer

BUNDLE_ANSWER = len(encode_answer(ReportUploaded("duplicate")))  # bytes


class ShowPass(Body):
    """The pass of a place of a cohort of n, as the study's service has signed it; the offer is the digest of it."""

    cohort: int
    n: Size
    place: PlaceNumber
    who: Who
    offer: Hash
    shown: Signature


class SendBundle(ShowPass):
    """The bundle of a place, encrypted for the service, and then for the shuffler."""

    sealed: str


def read_shown(body: ShowPass) -> tuple[int, int, int, bytes, bytes, str]:
    """What a pass is of, and the pass."""
    return body.cohort, body.n, body.place, bytes.fromhex(body.who), bytes.fromhex(body.offer), body.shown


async def send_bundle(call: Call, body: SendBundle) -> Answer:
    """Store the bundle of a person's device until its cohort is mixed."""
    await call.count_device()
    again = await call.do("take_bundle", *read_shown(body), decode_base64("sealed", body.sealed))
    return Answer(encode_answer(ReportUploaded("duplicate" if again else "stored")).ljust(BUNDLE_ANSWER))


async def withdraw_bundle(call: Call, body: ShowPass) -> StudyLeft:
    """Erase the bundle of a person who left, if it was not mixed. It may be asked again, and is answered the same."""
    await call.count_device()
    await call.do("drop_bundle", *read_shown(body))
    return StudyLeft()


ROUTES = [
    Route(
        *("POST", "/v1/studies/{study}/bundle", (), send_bundle, SendBundle, ReportUploaded, 200, BATCH),
        refusals=(404, 409, 410, 429),
        from_pages=True,
    ),
    Route(
        *("POST", "/v1/studies/{study}/withdraw", (), withdraw_bundle, ShowPass, StudyLeft),
        refusals=(404, 409, 429),
        from_pages=True,
    ),
]
