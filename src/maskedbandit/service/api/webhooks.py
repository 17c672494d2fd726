"""Webhooks over HTTP, for owners of all studies."""

from functools import partial

from maskedbandit.service import webhooks
from maskedbandit.service.api.keys import only_unscoped
from maskedbandit.service.keys import OWNER
from maskedbandit.service.request.route import Call, Route
from maskedbandit.service.views.receivers import list_receivers
from maskedbandit.service.webhook_messages import NewWebhook, WebhookDeleted, WebhookMade, WebhooksListed
from maskedbandit.store.databases.database import Database


async def make_webhook(call: Call, body: NewWebhook) -> WebhookMade:
    """Add a webhook: what is published from now on is sent to this address. The secret is shown only once."""
    only_unscoped(call.key)
    witness, now = call.host.witness, call.host.clock()

    def change(database: Database) -> tuple[webhooks.Webhook, str]:
        return webhooks.write_webhook(database, witness, body.url, body.study, body.kinds, now)

    made, secret = await call.host.read(change)
    return WebhookMade(made.webhook, secret)


async def list_webhooks(call: Call) -> WebhooksListed:
    """All webhooks, without their secrets, and whether their receivers answer."""
    only_unscoped(call.key)
    return WebhooksListed(await call.host.read(partial(list_receivers, witness=call.host.witness)))


async def remove_webhook(call: Call) -> WebhookDeleted:
    """Delete a webhook: nothing more is sent, and what waits is dropped."""
    only_unscoped(call.key)
    await call.host.read(partial(webhooks.delete_webhook, name=call.path["webhook"]))
    return WebhookDeleted(call.path["webhook"])


ROUTES = [
    Route("GET", "/v1/webhooks", (OWNER,), list_webhooks, answer=WebhooksListed),
    Route("POST", "/v1/webhooks", (OWNER,), make_webhook, NewWebhook, WebhookMade, 201, refusals=(404,)),
    Route("DELETE", "/v1/webhooks/{webhook}", (OWNER,), remove_webhook, answer=WebhookDeleted, refusals=(404,)),
]
