"""Several requests in one: each is answered or refused, whatever becomes of the others."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from maskedbandit.errors import MaskedBanditError
from maskedbandit.service.messages import Item, Items
from maskedbandit.service.request.problems import describe_problem
from maskedbandit.service.request.route import Call


async def answer_each(call: Call, requests: Sequence[Any], answer: Callable[[Call, Any], Awaitable[Any]]) -> Items[Any]:
    """What comes of each; all are in hardly more than one transaction."""
    call.count(len(requests))

    async def one(request: Any) -> Item[Any]:
        try:
            return Item(200, answer=await answer(call, request))
        except MaskedBanditError as why:
            said = describe_problem(why)
            return Item(said.status, problem=said)

    await call.host.hold(call.study)  # is there such a study?
    return Items(list(await asyncio.gather(*map(one, requests))))
