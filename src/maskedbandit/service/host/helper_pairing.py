"""A leader is paired with a helper, or a site with a coordinator: it spends an invitation, and keeps a credential."""

import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import httpx

from maskedbandit.errors import InvalidValue, StorageFailed, Unauthorized
from maskedbandit.service.host.partner_calls import PartnerAway, PartnerCalls, PartnerRefuses
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import do_again
from maskedbandit.store.lease import read_clock
from maskedbandit.store.own_keys import read_own_keys
from maskedbandit.store.pairing import Pairing, read_pairings, sign_invitation, write_pairing
from maskedbandit.store.studies import prepare_witness
from maskedbandit.study.operators import ADDRESS, LONGEST_NAME, OperatorKeys

PAIR_PATHS = {"helper": "/v1/helper/pair", "coordinator": "/v1/sites/pair"}  # by the role of the other operator
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class PairedOperators(NamedTuple):
    """Both operators, whose fingerprints are to be compared by other means."""

    own: str  # the fingerprint of this one
    other: Pairing


def check_partner_url(url: str) -> str:
    """The address of another operator, without a slash at its end.

    It begins with https: whoever heard the invitation on its way could be paired in place of this operator, and with
    the credential could ask for totals. On this machine nobody hears it.
    """
    host = re.fullmatch(r"http://(\[[0-9a-f:]+\]|[^/:@]+)(:[0-9]+)?/?", url)
    unheard = url.startswith("https://") or (host is not None and host[1] in LOOPBACK)
    if not re.fullmatch(ADDRESS, url) or "@" in url or not unheard:
        raise InvalidValue("URL", url, f"one that begins with https://, or with http:// and {' or '.join(LOOPBACK)}")
    return url.rstrip("/")


def check_only_coordinator(paired: Sequence[Pairing], url: str) -> None:
    """Raise `InvalidValue` if a site has joined another coordinator: it would be told of the people of its studies."""
    if others := [each.address for each in paired if each.role == "coordinator" and each.address != url]:
        allowed = f"{others[0]}, which this site has joined: join another one with a database of its own"
        raise InvalidValue("URL", url, allowed)


async def pair_with_operator(
    address: str,
    folder: Path | None,
    url: str,
    invitation: str,
    name: str,
    transport: httpx.AsyncBaseTransport | None = None,
    role: str = "helper",
) -> PairedOperators:
    """Spend an invitation of the operator at a URL, and work with it from now on; `name` is what it is told of this."""
    url = check_partner_url(url)
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        raise InvalidValue("name", name, f"a text of 1 to {LONGEST_NAME} printable characters")
    with closing(open_database(address)) as database:
        witness = prepare_witness(database, folder)
        own = read_own_keys(witness)
        if role == "coordinator":
            check_only_coordinator(read_pairings(database), url)
        calls = PartnerCalls(url, "", transport, role)
        try:
            said = {"token": invitation, "name": name, "seals": own.seals.hex(), "signs": own.signs.hex()}
            said["signature"] = sign_invitation(witness.signing_key(), own, invitation)
            found = await calls.ask("POST", PAIR_PATHS[role], said)
        except PartnerAway as why:
            raise StorageFailed(f"{why}: nothing was stored; try again, if need be with a new invitation") from None
        except PartnerRefuses as why:
            if why.said != "unauthorized":
                raise
            raise Unauthorized(f"the {role} made no such invitation, or it was used before, or has expired") from None
        finally:
            await calls.close()
        keys = OperatorKeys.from_text(found.get("seals"), found.get("signs"))
        other, credential = found.get("name"), found.get("credential")
        if not isinstance(other, str) or not 1 <= len(other) <= LONGEST_NAME or not other.isprintable():
            raise InvalidValue(f"name of the {role}", "not shown", f"1 to {LONGEST_NAME} printable characters")
        if not isinstance(credential, str) or not re.fullmatch("[!-~]{1,512}", credential):
            raise InvalidValue("credential", "not shown", "a text without spaces")
        if keys.fingerprint == own.fingerprint:
            raise InvalidValue(role, url, "another operator: this one has the same keys")

        def write() -> Pairing:
            with database.transaction():
                return write_pairing(database, keys, role, other, url, credential, read_clock())

        return PairedOperators(own.fingerprint, do_again(write))
