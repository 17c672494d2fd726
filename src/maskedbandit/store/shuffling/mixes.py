"""How the shuffler mixes a cohort: all messages that came, in one uniformly random order, once.

The order is drawn in the transaction that writes the ledger's entry, and the bundles are erased in it. So a cohort has
one mix, whoever asks again is told the same, byte for byte, and what comes later is in none. If the messages that came
do not hide their senders, or two people sent the same one, none is delivered, and the cohort has had its mix as well:
whatever was left out of one cannot be had in a second one.
"""

from maskedbandit.errors import Disagreement, Malformed, NotRunning
from maskedbandit.privacy.sampling import Bits
from maskedbandit.shuffle.envelopes import WHO_SIZE
from maskedbandit.shuffle.sealed_messages import MESSAGE_SEAL_SIZE, message_width, shuffle
from maskedbandit.store.book.entries import Mixed
from maskedbandit.store.shuffling.bundles import LARGEST_COHORT
from maskedbandit.store.shuffling.session import ShufflerSession
from maskedbandit.study.mix_statement import MixStatement, check_mix, digest_messages, digest_people

MOST_OF_PAGE = 4096  # messages


def mix_cohort(session: ShufflerSession, cohort: int, n: int, people: bytes, signature: str) -> MixStatement:
    """Mix the bundles of these people of a cohort of n, for which the service has signed, or say again what is stated.

    Of others who had a pass nothing is mixed, and nobody is told whether there were any.
    """
    if not 0 <= cohort < 2**62 or not 1 <= n <= LARGEST_COHORT:
        raise Malformed("a cohort has a number, and a size of at least 1")
    check_mix(session.leader.signs, session.terms(cohort, n).of_cohort, digest_people(people), signature)
    if len(people) != n * WHO_SIZE:
        raise Malformed("a request to mix names whoever has each place of the cohort")
    made = session.made.get(cohort) or mix_now(session, cohort, n, people, signature)
    if made.n != n:
        raise Disagreement(f"cohort {cohort} of {session.name} has {made.n} places, and was asked for as one of {n}")
    assert isinstance(made, Mixed)
    return session.state_mix(made)


def mix_now(session: ShufflerSession, cohort: int, n: int, people: bytes, signature: str) -> Mixed:
    """Mix the bundles, write the order down, and erase them."""
    if session.state != "running":
        raise NotRunning(f"{session.name} is {session.state} here: nothing is mixed any more")
    database, name, offer = session.database, session.name, session.offer(n)
    rows = database.rows("SELECT n, place, item, messages FROM bundle WHERE study = ? AND cohort = ?", name, cohort)
    if any(size != n for size, *_ in rows):
        raise Disagreement(f"devices of cohort {cohort} of {name} were told that it has other places than {n}")
    named = people.hex()
    wide = 2 * WHO_SIZE
    bundles = [
        bytes.fromhex(messages)
        for _, place, item, messages in rows
        if messages and item[:wide] == named[wide * place : wide * (place + 1)]  # they did not leave, nor were erased
    ]
    database.take_time()
    wide = message_width(session.channel.below(offer)) + MESSAGE_SEAL_SIZE
    sent = [each[at : at + wide] for each in bundles for at in range(0, len(each), wide)]
    mixed = sorted(set(sent))
    if len(mixed) == len(sent) and session.channel.hides(len(mixed), len(bundles), n):
        shuffle(mixed, Bits())  # fresh bits: none from before a fork or a snapshot
        session.worst |= session.protocol.price(n)
    else:
        mixed = []
    numbered = [(name, cohort, number, each.hex()) for number, each in enumerate(mixed)]
    if numbered:
        database.insert("mixed", "study, cohort, number, message", numbered)
    database.change("DELETE FROM bundle WHERE study = ? AND cohort = ?", name, cohort)
    database.change("UPDATE study SET traces = traces + 1 WHERE study = ?", name)
    says = {"cohort": cohort, "n": n, "reports": len(bundles), "messages": len(mixed), "digest": digest_messages(mixed)}
    made = session.enter(
        kind="mixed", **says, offer=offer.digest.hex(), asked=signature, people=digest_people(people).hex()
    )
    assert isinstance(made, Mixed)
    session.made[cohort] = made
    return made


def read_messages(session: ShufflerSession, cohort: int, start: int) -> list[bytes]:
    """The messages of a cohort that was mixed, in their order, from this number on: at most a page."""
    if cohort not in session.made:
        raise NotRunning(f"cohort {cohort} of {session.name} was not mixed")
    find = "SELECT message FROM mixed WHERE study = ? AND cohort = ? AND number >= ? AND number < ? ORDER BY number"
    rows = session.database.rows(find, session.name, cohort, start, start + MOST_OF_PAGE)
    return [bytes.fromhex(message) for (message,) in rows]
