"""The service from an application: who gets which arm, and what became of it.

    client = Client("https://studies.example.org", key, "newsletter", fallback="plain")
    ann = client.assign("ann")  # never later than the deadline, whatever the service does
    client.expose(ann.ticket)
    client.report(ann.ticket, 1)  # on disk when this returns; sent until the service has it

`AsyncClient` is the same for applications of asyncio, and `openfeature.MaskedBanditProvider` for those of OpenFeature.
See docs/client.md.
"""

from maskedbandit.client.answers import Assigned, Refusal
from maskedbandit.extras import explain_missing

try:
    from maskedbandit.client.clients import AsyncClient, Client
except ModuleNotFoundError as missing:
    raise explain_missing(missing) or missing from None

__all__ = ["Assigned", "AsyncClient", "Client", "Refusal"]
