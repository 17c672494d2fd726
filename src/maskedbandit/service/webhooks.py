"""Webhooks: where the service says by itself that something of a study was published, and how far each receiver is.

A webhook has a secret that is shown once, when it is made. It follows from a secret of the witness and a random salt,
so whoever has the database alone cannot sign. Where a receiver stands is kept for each study: a position in its ledger,
what was found to hold of it, and what waits of that. So what a process that was killed had not sent the next one sends.
"""

import hmac
import json
import re
import secrets
from base64 import b64encode
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any, Literal, NamedTuple, get_args
from urllib.parse import urlsplit

from maskedbandit.errors import InvalidValue, UnknownWebhook
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database, do_again
from maskedbandit.store.study_rows import read_study
from maskedbandit.value_words import shorten_value

WebhookKind = Literal["released", "finished", "state", "arm", "attention"]
WEBHOOK_KINDS: tuple[str, ...] = get_args(WebhookKind)
MOST_WEBHOOKS, LONGEST_URL = 50, 2000
STATE_COLUMNS = "webhook, study, position, standing, waiting, failures, failing, next, error, sent, lost"
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
WRITTEN = re.compile(r"[!-~]+")  # by no browser, so nothing else is in it


class Webhook(NamedTuple):
    """A webhook, as it is stored."""

    webhook: str
    study: str | None  # None: all
    url: str
    kinds: tuple[str, ...]
    salt: str
    made: int

    def hears(self, study: str) -> bool:
        """Whether it is told of a study."""
        return self.study in (None, study)


class ReceiverState(NamedTuple):
    """How far a receiver has come with a study."""

    webhook: str
    study: str
    position: int = 0  # entries of the ledger that it has, or need not have
    standing: str = "{}"  # JSON
    waiting: str = "[]"  # JSON
    failures: int = 0
    failing: int | None = None
    next: int = 0
    error: str = ""
    sent: int | None = None
    lost: int = 0


def check_webhook_url(url: str) -> str:
    """The address of a receiver, or raise `InvalidValue`: https, or http on this machine, and no place of a network.

    >>> check_webhook_url("https://hooks.example/bandit")
    'https://hooks.example/bandit'
    """
    allowed = "https://..., or http://localhost:..., without a password, and no address of a private network"
    try:
        found = urlsplit(url)
        right = (found.port or 443) > 0 and bool(found.hostname)
    except ValueError:
        right = False
    right = right and len(url) <= LONGEST_URL and WRITTEN.fullmatch(url) is not None and "@" not in found.netloc
    if not right or found.fragment:
        raise InvalidValue("url", url, allowed)
    host = found.hostname or ""
    here = host in LOCAL_NAMES
    if found.scheme not in (("https", "http") if here else ("https",)) or not (here or is_public(host)):
        raise InvalidValue("url", url, allowed)
    return url


def is_public(host: str) -> bool:
    """Whether a host is a name, or an address that anybody may have.

    >>> is_public("hooks.example"), is_public("8.8.8.8"), is_public("10.0.0.1"), is_public("127.0.0.0x1")
    (True, True, False, False)
    """
    try:
        return ip_address(host).is_global
    except ValueError:  # a name; one that ends with a number, be it 0x1, is an address to some who look it up
        return re.match("[a-z]", host.rpartition(".")[2]) is not None


def write_webhook(
    database: Database, witness: Witness, url: str, study: str | None, kinds: Iterable[str], now: int
) -> tuple[Webhook, str]:
    """A new webhook, and its secret, as it is shown once. It hears of what is published from now on."""
    check_webhook_url(url)
    kinds = tuple(dict.fromkeys(kinds)) or WEBHOOK_KINDS
    for kind in kinds:
        if kind not in WEBHOOK_KINDS:
            raise InvalidValue("kind", kind, f"one of {', '.join(WEBHOOK_KINDS)}")
    if study is not None:
        read_study(database, study)  # is there one?
    made = Webhook(secrets.token_hex(8), study, url, kinds, secrets.token_hex(16), now)

    def write() -> None:
        with database.transaction():
            if len(read_webhooks(database)) >= MOST_WEBHOOKS:
                raise InvalidValue("the number of webhooks", MOST_WEBHOOKS, f"below {MOST_WEBHOOKS}: delete one first")
            database.insert(
                "webhook",
                "webhook, study, url, kinds, salt, made",
                [(made.webhook, study, url, " ".join(kinds), made.salt, now)],
            )
            for name, entries in database.rows("SELECT study, COUNT(*) FROM entry GROUP BY study ORDER BY study"):
                if made.hears(name):
                    write_delivery(database, ReceiverState(made.webhook, name, int(entries)))

    do_again(write)
    return made, derive_webhook_secret(witness, made)


def derive_webhook_secret(witness: Witness, webhook: Webhook) -> str:
    """What signs all that is sent there, and what the receiver checks it by."""
    return f"whsec_{b64encode(derive_signing_key(witness, webhook)).decode()}"


def derive_signing_key(witness: Witness, webhook: Webhook) -> bytes:
    """The secret of a webhook as bytes."""
    said = f"maskedbandit webhook 1\n{webhook.webhook}\n{webhook.salt}"
    return hmac.digest(witness.secret("webhooks"), said.encode(), "sha256")


def read_webhooks(database: Database) -> list[Webhook]:
    """All webhooks, oldest first."""
    find = "SELECT webhook, study, url, kinds, salt, made FROM webhook ORDER BY made, webhook"
    return [Webhook(row[0], row[1], row[2], tuple(row[3].split()), row[4], row[5]) for row in database.rows(find)]


def delete_webhook(database: Database, name: str) -> None:
    """Send nothing there any more; what waits is not sent."""

    def delete() -> None:
        with database.transaction():
            database.change("DELETE FROM delivery WHERE webhook = ?", name)
            if not database.change("DELETE FROM webhook WHERE webhook = ?", name):
                raise UnknownWebhook(f"there is no webhook {shorten_value(name)}")

    do_again(delete)


def read_deliveries(database: Database) -> dict[tuple[str, str], ReceiverState]:
    """How far all receivers have come, by webhook and study."""
    found = [ReceiverState(*row) for row in database.rows(f"SELECT {STATE_COLUMNS} FROM delivery")]
    return {(each.webhook, each.study): each for each in found}


def write_delivery(database: Database, delivery: ReceiverState) -> None:
    """Write down how far a receiver has come, within a transaction; nothing is written for a webhook that is gone."""
    if database.one("SELECT webhook FROM webhook WHERE webhook = ?", delivery.webhook) is None:
        return
    database.change("DELETE FROM delivery WHERE webhook = ? AND study = ?", delivery.webhook, delivery.study)
    database.insert("delivery", STATE_COLUMNS, [tuple(delivery)])


def save_delivery(database: Database, delivery: ReceiverState) -> None:
    """Write down how far a receiver has come, in a transaction of its own."""

    def save() -> None:
        with database.transaction():
            write_delivery(database, delivery)

    do_again(save)


def parse_waiting(delivery: ReceiverState) -> list[dict[str, Any]]:
    """What waits that is no entry of the ledger."""
    found: list[dict[str, Any]] = json.loads(delivery.waiting)
    return found
