"""The privacy statement of a study that is served, from all that may be shown of it."""

import asyncio

from maskedbandit.service.host.host import Host
from maskedbandit.service.shown.view import View
from maskedbandit.statement.check import made
from maskedbandit.statement.content import Statement
from maskedbandit.statement.study import study_statement
from maskedbandit.store.databases.connection import connect


def statement(view: View) -> Statement:
    """The privacy statement of a study."""
    return study_statement(view.protocol, view.facts, view.key, view.kept_in)


async def recomputed_statement(host: Host, name: str) -> Statement:
    """The same, after all that is stored of the study was recomputed, which takes a while."""

    def question() -> Statement:
        database = connect(host.address, create=False)
        try:
            return made(database, host.witness, name)
        finally:
            database.close()

    async with host.verifying:
        return await asyncio.to_thread(question)
