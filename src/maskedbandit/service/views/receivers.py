"""How the receivers of webhooks do: what they took last, what waits for them, and what went wrong."""

from maskedbandit.service.webhook_messages import WebhookListed
from maskedbandit.service.webhooks import ReceiverState, Webhook, parse_waiting, read_deliveries, read_webhooks
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.store.study_rows import read_studies


def list_receivers(database: Database, witness: Witness) -> list[WebhookListed]:
    """All webhooks, oldest first, with how their receivers do."""
    witness = witness.as_now()
    seen = {each.name: witness.seen(each.name) for each in read_studies(database)}
    entries = {name: found.head.entries for name, found in seen.items() if found}
    known = read_deliveries(database)
    return [
        describe_receiver(
            webhook,
            {
                name: (known.get((webhook.webhook, name), ReceiverState(webhook.webhook, name)), many)
                for name, many in entries.items()
                if webhook.hears(name)
            },
        )
        for webhook in read_webhooks(database)
    ]


def describe_receiver(webhook: Webhook, studies: dict[str, tuple[ReceiverState, int]]) -> WebhookListed:
    """A webhook, by where its receiver is in each study, and how many entries that has."""
    found = [delivery for delivery, _ in studies.values()]
    waiting = sum(max(many - each.position, 0) + len(parse_waiting(each)) for each, many in studies.values())
    failing = [each for each in found if each.failing is not None]
    worst = min(failing, key=lambda each: each.failing or 0, default=None)
    return WebhookListed(
        webhook.webhook,
        webhook.url,
        webhook.study,
        webhook.kinds,
        webhook.made,
        max((each.sent for each in found if each.sent is not None), default=None),
        waiting,
        worst.failing if worst else None,
        worst.error if worst else "",
        sum(each.lost for each in found),
    )
