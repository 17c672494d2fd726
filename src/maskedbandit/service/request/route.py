"""A route of the service: who may use it, what it is sent and what it answers; each is an application of its own.

Nothing is parsed before the key is known, and nothing of a body is kept: whatever fails, the answer is a problem body,
and the log says no more than the route and the error's name.
"""

import asyncio
import hmac
import logging
import re
import tomllib
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from time import perf_counter
from typing import Any, NamedTuple, get_args
from urllib.parse import parse_qs

import msgspec
from starlette.responses import StreamingResponse

from maskedbandit.errors import FencedOff, Forbidden, Unauthorized, UnknownStudy
from maskedbandit.service.host.elsewhere import PROCESS, RELAYED, Elsewhere
from maskedbandit.service.host.host import Host
from maskedbandit.service.keys import DEVICE, Key
from maskedbandit.service.logs import is_of_reports
from maskedbandit.service.messages import NAME_PATTERN, Problem
from maskedbandit.service.request.bodies import BadBody, check_names, may_name_twice, read_body
from maskedbandit.service.request.cross_origin import allow_origin, check_origin
from maskedbandit.service.request.holders import HeldElsewhere, find_writer, find_writer_after
from maskedbandit.service.request.joining import Start, send_whole
from maskedbandit.service.request.limits import BODY
from maskedbandit.service.request.problems import describe_problem

log = logging.getLogger("maskedbandit")
encode_answer = msgspec.json.Encoder().encode
JSON, PROBLEM = b"application/json", b"application/problem+json"
NAMES, SENT_HERE, FROM_PROCESS = re.compile(NAME_PATTERN), RELAYED.encode(), PROCESS.encode()
Headers = tuple[tuple[bytes, bytes], ...]


class Call:
    """A request that is allowed."""

    __slots__ = ("address", "headers", "host", "key", "path", "raw", "receive", "scope", "send")

    def __init__(self, host: Host, scope: Any, receive: Any, send: Any) -> None:
        self.host, self.scope, self.receive, self.send = host, scope, receive, send
        self.key: Key | None = None
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.path: Mapping[str, str] = scope["path_params"]
        self.raw, self.address = b"", ""

    @property
    def study(self) -> str:
        """The study that the path names."""
        return study_name(self.path["study"])

    @property
    def bearer(self) -> str:
        """The text of the key; empty if there is none."""
        given = self.headers.get(b"authorization", b"")
        return given[7:].decode("latin-1") if given[:7].lower() == b"bearer " else ""

    async def do(self, *operation: Any) -> Any:
        """What comes of an operation of the study that the path names; the request goes to whoever holds it."""
        return await (await find_writer(self.host, self.study, self.relayed)).submit(*operation)

    async def change(self, verb: str, *given: Any) -> Any:
        """What comes of a change that the ledger will record, with the key that asked for it."""
        return await self.do(verb, self.key.key if self.key else "", *given)

    @property
    def relayed(self) -> bool:
        """Whether another process sent this here, as it takes this one for the holder."""
        return SENT_HERE in self.headers

    @property
    def from_process(self) -> bool:
        """Whether another process with the same witness sent this: nobody else can write this header."""
        return hmac.compare_digest(self.headers.get(FROM_PROCESS, b""), self.host.process_seal)

    @property
    def query(self) -> dict[str, str]:
        """The last value of each name in the query."""
        found = parse_qs(self.scope["query_string"].decode("latin-1"), keep_blank_values=True)
        return {name: values[-1] for name, values in found.items()}

    def count(self, many: int) -> None:
        """Count a batch as so many requests."""
        if self.key is not None:
            self.host.callers.take(self.key.key, many)

    @property
    def by_device(self) -> bool:
        """Whether a device key came with it."""
        return self.key is not None and self.key.role == DEVICE

    async def count_device(self) -> None:
        """Count a request of a device, by where it comes from."""
        if not self.from_process:  # what another process sends was counted there
            self.address = await self.scope["app"].asking(self.scope, self.receive, self.send)
            self.host.devices.take(self.address)

    def count_ticket(self, ticket: str) -> None:
        """Count a request of a device that was counted, by its ticket, and by where it comes from.

        A limit that all who have a ticket share would tell the one that the other one reports.
        """
        if not self.from_process:
            self.host.tickets.take(f"{self.address} {ticket}")

    async def count_stranger(self) -> None:
        """Count a request whose key is wrong, by where it comes from."""
        if self.bearer:
            self.host.strangers.take(await self.scope["app"].asking(self.scope, self.receive, self.send))

    def header(self, name: str) -> str | None:
        """A header of the request."""
        value = self.headers.get(name.encode())
        return None if value is None else value.decode("latin-1")


@lru_cache(maxsize=1024)
def study_name(text: str) -> str:
    """The text, if a study can have this name. No database is asked for others, as not every one can read them."""
    if not NAMES.fullmatch(text):
        raise UnknownStudy("there is no study of this name")
    return text


class Answer(NamedTuple):
    """An answer that is no JSON, or has headers of its own."""

    body: bytes
    kind: bytes = JSON
    status: int = 200
    headers: Headers = ()


class Route:
    """A method and a path. `roles` may use it; without roles everybody may."""

    def __init__(
        self,
        method: str,
        path: str,
        roles: tuple[str, ...],
        handler: Callable[..., Awaitable[Any]],
        body: Any = None,
        answer: Any = None,
        status: int = 200,
        limit: int = BODY,
        refusals: tuple[int, ...] = (),
        fault: Any = None,
        about: str = "",
        from_pages: bool = False,
    ) -> None:
        self.method, self.path, self.roles, self.handler = method, path, roles, handler
        self.body, self.answer, self.status, self.limit, self.refusals = body, answer, status, limit, refusals
        self.fault = fault  # the type of these refusals, if it is no problem
        self.from_pages = from_pages  # of other sites, which a device key names
        self.about = about or (handler.__doc__ or "").strip()  # what it is for
        self.decode = None if body in (None, Any) else msgspec.json.Decoder(body).decode
        kinds = get_args(body) or (body,)
        self.may_be_empty = type(None) in kinds  # then the body is None
        self._names = [f'"{name}"'.encode() for each in kinds for name in getattr(each, "__struct_fields__", ())]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        host: Host = scope["app"].service_host
        start = perf_counter()
        call = Call(host, scope, receive, send)
        try:
            if self.roles:
                call.key = await self.allowed(call)
            if self.method != "GET":
                call.raw = await read_body(receive, call.headers, self.limit)
            try:
                found = await self.handled(call)
            except HeldElsewhere as other:
                found = await self.relayed(call, other.holder)
        except Exception as why:
            found = answer_refusal(self.path, why)
        if isinstance(found, StreamingResponse):
            await found(scope, receive, send)
            return
        body, kind, status, more = found if isinstance(found, Answer) else (encode_answer(found), JSON, self.status, ())
        host.metrics.answered(self.path, status, perf_counter() - start)
        if self.from_pages:
            more = (*more, *allow_origin(host, call.path["study"], call.headers))
        begins = begin_answer(status, kind, more, len(body))
        if not send_whole(send, begins.head, body):
            await send(begins)
            await send({"type": "http.response.body", "body": body})

    async def handled(self, call: Call) -> Any:
        """What the handler answers to what was read."""
        if self.method == "GET" or self.body is None:
            return await self.handler(call)
        if self.body is Any:  # a protocol, which as TOML made for it takes half a minute to read
            return await self.handler(call, await asyncio.to_thread(self.decoded, call))
        return await self.handler(call, self.decoded(call))

    async def relayed(self, call: Call, holder: Elsewhere) -> Any:
        """What the process that holds the study answers, or this one, if that one is gone."""
        try:
            return await relay_call(call, holder)
        except FencedOff:
            await find_writer_after(call.host, holder)
            return await self.handled(call)

    async def allowed(self, call: Call) -> Key:
        """The key of the request, if its role may do this."""
        try:
            key = call.host.keys.of(call.bearer, call.host.clock())
        except Unauthorized:
            key = await call.host.find_new_key(call.bearer, call.count_stranger)
        if key.role == DEVICE:  # everybody may have it
            await call.count_device()
        else:
            call.host.callers.take(key.key)
        if key.role not in self.roles:
            raise Forbidden(f"a key of role {key.role} may not do this, but {' or '.join(self.roles)} may")
        if key.study is not None and call.path.get("study", key.study) != key.study:
            raise Forbidden("this key is for another study")
        if key.role == DEVICE:
            check_origin(key, call.headers, self.from_pages)
        call.host.last_use.note(key, self.path, call.host.clock())
        return key

    def decoded(self, call: Call) -> Any:
        """The body, as the type that the route has."""
        if self.may_be_empty and not call.raw:
            return None
        try:
            if self.decode is not None:
                found = self.decode(call.raw)
                if may_name_twice(call.raw, self._names):
                    check_names(call.raw)
                return found
            if (call.header("content-type") or "").partition(";")[0].strip() == "application/toml":
                return tomllib.loads(call.raw.decode())
            check_names(call.raw)
            return msgspec.json.decode(call.raw)
        except (ValueError, RecursionError) as why:  # of JSON, of TOML, or of a number of thousands of digits
            raise BadBody(why) from None


async def relay_call(call: Call, holder: Elsewhere) -> Answer:
    """What the process that holds the study answers."""
    given = {name.decode("latin-1"): value.decode("latin-1") for name, value in call.headers.items()}
    kept: dict[str, str] = {
        name: given[name] for name in ("authorization", "content-type", "idempotency-key") if name in given
    }
    query = call.scope["query_string"].decode("latin-1")
    path = f"{call.scope['path']}?{query}" if query else call.scope["path"]
    found = await holder.relay(call.scope["method"], path, kept, call.raw)
    return Answer(found.content, found.headers.get("content-type", "").encode(), found.status_code)


def log_problem(path: str, why: BaseException) -> Problem:
    """The problem of an error; a failure of the server is also written to its log.

    If the store failed during a report, sealed or not, nothing is written: the log would say when somebody has an
    outcome. That the store fails is known from the clock.
    """
    said = describe_problem(why)
    if said.status == 500 or (said.status > 500 and not is_of_reports(path)):
        unexpected = why if said.status == 500 else None
        log.error("a request failed", extra={"route": path, "code": said.code}, exc_info=unexpected)
    return said


def answer_refusal(path: str, why: BaseException) -> Answer:
    """A problem as an answer."""
    said = log_problem(path, why)
    more: Headers = ()
    if said.status in (429, 503):
        more = ((b"retry-after", b"1"),)
    if said.status == 401:
        more = ((b"www-authenticate", b"Bearer"),)
    return Answer(encode_answer(said), PROBLEM, said.status, more)


@lru_cache(maxsize=1024)
def begin_answer(status: int, kind: bytes, more: Headers, length: int) -> Start:
    """How an answer begins; it is kept, as answers of a route differ in the length of the body alone."""
    always = (b"content-type", kind), (b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")
    return Start(status, [*always, *more], length)
