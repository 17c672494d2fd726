"""The way of a study to its shuffler: it mixes what devices sent, and this service opens what it delivers.

due -> ask_mix -> the shuffler states what it mixed -> page after page of messages -> open_mix -> settle_mix
"""

import asyncio
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from maskedbandit.errors import Malformed
from maskedbandit.service.host.helper_link import HelperLink
from maskedbandit.store.book.mixes import match_mix
from maskedbandit.store.mixes import MixRequest, open_mix
from maskedbandit.store.own_keys import read_seal_key
from maskedbandit.store.settle import DueCohort
from maskedbandit.study.mix_statement import MixStatement


class MixLink(HelperLink):
    """The link from one study to its shuffler."""

    _private: X25519PrivateKey

    def _read_keys(self) -> None:
        self._private = read_seal_key(self._witness)

    async def _settle(self, due: DueCohort) -> None:
        asked: MixRequest = await self.writer.submit("ask_mix", due.cohort)
        path = f"/cohorts/{asked.cohort}/mix"
        people = urlsafe_b64encode(asked.people).decode()
        body = {"n": asked.n, "people": people, "signature": asked.signature}
        said = MixStatement.from_table(await self._ask("POST", path, body))
        match_mix(self._study.protocol, asked.cohort, asked.n, said, self._study.operators[1].signs)
        messages = list[bytes]()
        while len(messages) < said.messages:
            more = read_page(await self._ask("GET", f"{path}?start={len(messages)}", None))
            messages += more
        opened = await asyncio.to_thread(open_mix, self._study.protocol, asked, said, messages, self._private)
        await self.writer.submit("settle_mix", due.cohort, said, opened)


def read_page(said: dict[str, Any]) -> list[bytes]:
    """Some messages of a mix; there is at least one, or `Malformed` is raised."""
    width, given = said.get("width"), said.get("messages")
    try:
        joined = urlsafe_b64decode(given if isinstance(given, str) else "")
    except ValueError:
        joined = b""
    if type(width) is not int or width < 1 or not joined or len(joined) % width:
        raise Malformed("the shuffler does not deliver what it says that it mixed")
    return [joined[at : at + width] for at in range(0, len(joined), width)]
