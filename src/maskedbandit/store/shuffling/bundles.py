"""Bundles, as they come to the shuffler from people's devices: one of each place, until the cohort is mixed.

Whoever has the pass of a place may send its bundle. Nothing of the sender is stored but the place and a hash of its
ticket, and both go when the cohort is mixed. Of a person who left there is an empty one until then: what comes later is
refused.
"""

from hashlib import sha256

from maskedbandit.errors import Conflict, Disagreement, Forged, Late, Malformed, PersonalValue
from maskedbandit.shuffle.envelopes import BundleTerms, open_envelope
from maskedbandit.store.shuffling.session import ShufflerSession
from maskedbandit.study.mix_statement import check_pass

LARGEST_COHORT = 2**32


def take_bundle(
    session: ShufflerSession, cohort: int, n: int, place: int, who: bytes, offer: bytes, shown: str, sealed: bytes
) -> bool:
    """Store the bundle of a place of a cohort of n, to whoever shows the pass; return whether it was stored before.

    **Guarantee**: what is answered depends on the place, the pass, the envelope's size and key, and what was sent for
    the place before, and on no outcome. A place has one bundle, and a cohort that was mixed takes none.
    """
    terms = read_pass(session, cohort, n, place, who, offer, shown)
    if session.state != "running" or cohort in session.made:
        raise Late("the time in which this report counts is over")
    database, name, left = session.database, session.name, who.hex()
    item = left + sha256(sealed).hexdigest()
    before = find_item(session, cohort, place)
    if before == left:
        raise Late("the person of this place left")
    if before is not None:
        if before != item:
            raise Conflict("another report of this place came before: the first one stands")
        return True
    if not is_size(session, cohort, n):
        raise Disagreement("the cohort of this device has another size than that of others")
    at = session.offer(n).at(place)
    many, below = session.channel.bundle_size(at), session.channel.below(at)
    try:
        messages = open_envelope(sealed, many, below, terms, session.private)
    except (Forged, Malformed) as why:
        raise PersonalValue("an envelope", f"of this place, encrypted for this shuffler: {why}") from None
    row = name, cohort, place, n, item, b"".join(messages).hex()
    database.insert("bundle", "study, cohort, place, n, item, messages", [row])
    return False


def drop_bundle(
    session: ShufflerSession, cohort: int, n: int, place: int, who: bytes, offer: bytes, shown: str
) -> None:
    """The person left, and shows the pass: erase the bundle of the place, if it was not mixed, and take none later.

    Another one may be on its way: the device sent it before, or whoever carried it sends it once more.
    """
    read_pass(session, cohort, n, place, who, offer, shown)
    if session.state != "running" or cohort in session.made:
        return
    database, name, left = session.database, session.name, who.hex()
    if not (find_item(session, cohort, place) or left).startswith(left):
        return  # of somebody else, who has the place by now
    database.change("DELETE FROM bundle WHERE study = ? AND cohort = ? AND place = ?", name, cohort, place)
    if is_size(session, cohort, n):
        database.insert("bundle", "study, cohort, place, n, item, messages", [(name, cohort, place, n, left, "")])
    database.change("UPDATE study SET traces = traces + 1 WHERE study = ?", name)


def find_item(session: ShufflerSession, cohort: int, place: int) -> str | None:
    """Whose bundle is here of a place, and the digest of its envelope: nothing more of a person who left."""
    find = "SELECT item FROM bundle WHERE study = ? AND cohort = ? AND place = ?"
    found = session.database.one(find, session.name, cohort, place)
    return None if found is None else str(found[0])


def is_size(session: ShufflerSession, cohort: int, n: int) -> bool:
    """Whether all others of a cohort, if there are any, were told that it has n places."""
    find = "SELECT n FROM bundle WHERE study = ? AND cohort = ? LIMIT 1"
    size = session.database.one(find, session.name, cohort)
    return size is None or bool(size[0] == n)


def read_pass(
    session: ShufflerSession, cohort: int, n: int, place: int, who: bytes, offer: bytes, shown: str
) -> BundleTerms:
    """What the bundle of this place of a cohort of n is bound to, or raise unless this is its pass."""
    if not 1 <= n <= LARGEST_COHORT or not 0 <= place < n or not 0 <= cohort < 2**62:
        raise Malformed("a cohort has a number and a size, and a place of it is below that")
    terms = BundleTerms(session.digest, cohort, offer, place, who)
    check_pass(session.leader.signs, terms, shown)  # first: what follows is done for people of the study alone
    if session.offer(n).digest != offer:
        raise Disagreement("another cohort was offered to this device than the protocol says")
    return terms
