"""Whoever has an invitation pairs with this service, as a leader or as a site, and gets a credential."""

from maskedbandit.errors import InvalidValue
from maskedbandit.service.helping.messages import Pair, Paired
from maskedbandit.service.host.hosting import Hosting
from maskedbandit.store.databases.database import Database, do_again
from maskedbandit.store.own_keys import agree_with, read_own_keys
from maskedbandit.store.pairing import accept_pairing, check_invitation
from maskedbandit.study.operators import OperatorKeys


async def pair_partner(host: Hosting, body: Pair, role: str, name: str) -> Paired:
    """Spend an invitation: the partner's credential, which is shown once, and the keys of this service of this name."""
    keys, own = OperatorKeys.from_text(body.seals, body.signs), read_own_keys(host.witness)
    if keys.fingerprint == own.fingerprint:
        raise InvalidValue(f"keys of the {role}", keys.fingerprint, "those of another operator than this one")
    check_invitation(keys, body.token, body.signature)
    agree_with(host.witness, keys)
    if not body.name.isprintable():
        raise InvalidValue("name", body.name, "printable characters")

    def question(database: Database) -> str:
        def once() -> str:
            with database.transaction():
                return accept_pairing(database, body.token, keys, body.name, host.clock(), role)

        credential = do_again(once)
        host.keys.read(database)
        return credential

    return Paired(await host.read(question), name, own.seals.hex(), own.signs.hex())
