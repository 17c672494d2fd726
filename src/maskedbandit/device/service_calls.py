"""Requests of a device to the service of a study: one attempt, and its answer or none. The next contact tries again."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from maskedbandit.errors import InvalidValue
from maskedbandit.extras import import_extra

if TYPE_CHECKING:
    import httpx

CONTACT_PATIENCE = 10.0  # seconds for each step of a request
MOST_ANSWER = 2**22  # bytes: of the keys of all neighbours in a round, with the proof that they are those of a million
SERVICE_URL = re.compile(r"https?://[^\s/?#@]+(/[^\s?#@]*)?")


class DeviceRequest(NamedTuple):
    """What a device asks of a study."""

    study: str
    action: str  # assign, expose, report, upload or leave
    body: str


class ServiceReply(NamedTuple):
    """What came back: a status, 0 if nothing came, and the body if it is an object of JSON."""

    status: int
    body: Mapping[str, Any] = {}

    @property
    def said(self) -> str:
        """What became of a request, or the code of a refusal, or nothing: who asks to log in has a status, too."""
        word = self.body.get("status" if self.status == 200 else "code")
        return word if isinstance(word, str) and re.fullmatch("[a-z_]{1,64}", word) else ""


class ServiceCalls:
    """The way to the service of some studies, with a device key of each, or of all if there is one study.

    The transport is used without `httpx.Client`, which writes every address to the log. It is made for one contact and
    closed after it, so a connection says nothing of what happened since the last one.
    """

    def __init__(
        self, url: str, keys: str | Mapping[str, str] | None, transport: "Callable[[], httpx.BaseTransport] | None"
    ) -> None:
        if not isinstance(url, str) or not SERVICE_URL.fullmatch(url):
            raise InvalidValue("url", "not shown", "such as https://studies.example.org, without a password in it")
        for key in [] if keys is None else keys.values() if isinstance(keys, Mapping) else [keys]:
            if not isinstance(key, str) or not re.fullmatch("[!-~]{1,512}", key):
                raise InvalidValue("key", "not shown", "a device key, or one of each study by the study's name")
        self._url, self._keys, self._make = url.rstrip("/"), keys, transport

    def find_key(self, study: str) -> str | None:
        """The device key of a study, if there is one."""
        return self._keys.get(study) if isinstance(self._keys, Mapping) else self._keys

    @contextmanager
    def connect(self) -> Iterator[Callable[[DeviceRequest], ServiceReply]]:
        """A way to ask that is open until the end of a block, one request after the other."""
        httpx = import_extra("httpx")
        # trust_env: a proxy of the environment would see when this device is in contact
        transport = self._make() if self._make else httpx.HTTPTransport(trust_env=False)
        try:
            yield partial(self._ask, httpx, transport)
        finally:
            transport.close()

    def post(self, requests: Sequence[DeviceRequest]) -> list[ServiceReply]:
        """What is answered to each of some requests, which are sent one after the other."""
        if not requests:
            return []
        with self.connect() as ask:
            return [ask(each) for each in requests]

    def _ask(self, httpx: Any, transport: Any, asked: DeviceRequest) -> ServiceReply:
        request = httpx.Request(
            "POST",
            f"{self._url}/v1/studies/{asked.study}/{asked.action}",
            headers=self._make_headers(asked.study),
            content=asked.body.encode(),
            extensions={"timeout": dict.fromkeys(("connect", "read", "write", "pool"), CONTACT_PATIENCE)},
        )
        try:
            response = transport.handle_request(request)
            try:
                received = bytearray()
                for chunk in response.iter_bytes():
                    received += chunk
                    if len(received) > MOST_ANSWER:
                        raise httpx.ReadError("a longer answer than any of the service")
            finally:
                response.close()
            return ServiceReply(response.status_code, read_object(bytes(received)))
        except (httpx.HTTPError, httpx.StreamError, OSError):
            return ServiceReply(0)

    def _make_headers(self, study: str) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "maskedbandit"}
        key = self.find_key(study)
        return headers if key is None else {"Authorization": f"Bearer {key}", **headers}


def read_object(content: bytes) -> dict[str, Any]:
    """The object of JSON in a body; an empty one if there is none."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}
