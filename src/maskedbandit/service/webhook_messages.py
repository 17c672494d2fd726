"""Messages about webhooks: making them, and listing them without their secrets."""

from typing import Annotated

from msgspec import Meta, Struct

from maskedbandit.service.messages import Body, ShortName
from maskedbandit.service.webhooks import LONGEST_URL, WEBHOOK_KINDS, WebhookKind


class NewWebhook(Body):
    """A webhook to be made: for a study or, without one, for all; of all kinds, unless some are named."""

    url: Annotated[str, Meta(max_length=LONGEST_URL, description="https://..., or http://localhost:...")]
    study: ShortName | None = None
    kinds: Annotated[tuple[WebhookKind, ...], Meta(max_length=len(WEBHOOK_KINDS))] = ()


class WebhookMade(Struct):
    """A new webhook, and the secret by which its receiver checks signatures. The secret is shown only once."""

    webhook: str
    secret: str


class WebhookListed(Struct):
    """A webhook without its secret, and whether its receiver answers; times are in milliseconds."""

    webhook: str
    url: str
    study: str | None
    kinds: tuple[str, ...]
    made: int
    sent: int | None  # when the receiver last took something
    waiting: int  # announcements that wait, at most
    failing: int | None  # since when the receiver takes nothing
    error: str  # why, at the last try
    lost: int  # announcements that were given up


class WebhooksListed(Struct):
    """All webhooks."""

    webhooks: list[WebhookListed]


class WebhookDeleted(Struct):
    """A webhook that was deleted."""

    webhook: str
