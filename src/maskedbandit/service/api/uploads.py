"""Devices of people, which upload what they have sealed for two operators, and leave.

They have no key: the ticket is a secret of the person, and whoever has it learns nothing by it. So there are limits for
each address and each ticket. What is answered to an upload has one size, whatever came before.
"""

from base64 import urlsafe_b64decode
from binascii import Error as BadText

from maskedbandit.errors import PersonalValue
from maskedbandit.service.messages import AskPass, LeaveStudy, PassGiven, ReportUploaded, StudyLeft, UploadReport
from maskedbandit.service.request.route import Answer, Call, Route, encode_answer

LONGEST_UPLOAD = 4096  # bytes of a body
UPLOAD_ANSWER = len(encode_answer(ReportUploaded("duplicate")))  # bytes


async def upload_report(call: Call, body: UploadReport) -> Answer:
    """Store a sealed report of a person's device."""
    await call.count_device()
    call.count_ticket(body.ticket)
    leader, helper = decode_share(body.leader), decode_share(body.helper)
    done = await call.do("upload", body.ticket, bytes.fromhex(body.report), body.turn, leader, helper)
    said = encode_answer(ReportUploaded("duplicate" if done.again else "stored"))
    return Answer(said.ljust(UPLOAD_ANSWER))


async def give_pass(call: Call, body: AskPass) -> PassGiven:
    """The pass of a place whose arm was seen, in a study with a shuffler. It may be asked again, and is the same."""
    await call.count_device()
    call.count_ticket(body.ticket)
    return PassGiven(await call.do("pass", body.ticket))


async def leave_study(call: Call, body: LeaveStudy) -> StudyLeft:
    """Erase what is kept of the person who has this ticket. It may be asked again, and is answered the same."""
    await call.count_device()
    call.count_ticket(body.ticket)
    await call.do("leave", body.ticket)
    return StudyLeft()


def decode_share(text: str) -> bytes:
    """The bytes of a sealed share."""
    try:
        return urlsafe_b64decode(text)
    except (BadText, ValueError):
        raise PersonalValue("a sealed share", "base64url, with its padding") from None


PATH = "/v1/studies/{study}"
ROUTES = [
    Route(
        *("POST", f"{PATH}/upload", (), upload_report, UploadReport, ReportUploaded, 200, LONGEST_UPLOAD),
        refusals=(404, 409, 410, 429),
        about="Upload a sealed report. The one with the highest turn counts; a retry has no effect.",
        from_pages=True,
    ),
    Route(
        *("POST", f"{PATH}/pass", (), give_pass, AskPass, PassGiven, 200, LONGEST_UPLOAD),
        refusals=(404, 409, 410, 429),
        from_pages=True,
    ),
    Route(
        *("POST", f"{PATH}/leave", (), leave_study, LeaveStudy, StudyLeft, 200, LONGEST_UPLOAD),
        refusals=(404, 429),
        from_pages=True,
    ),
]
