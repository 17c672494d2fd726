"""A database that is older than its witness: a copy was restored, and what came after it is missing.

**Bringing back.** `exported` writes what the ledger rests on: its entries, the decisions, and who was in each released
cohort, as hashes, with what each was charged. If such a file reaches as far as the witness has seen, the gap is filled,
and nothing is lost but the people who were waiting. The file tells nobody a reward: of a ticket it has the hash, and
the leaves (members.py), and what a channel keeps (memory.py) can be read with the keys of the witness alone. No
export has a salt, so whoever has these keys too, and the tickets, cannot try which reports fit a leaf.

**Burning.** Without it nobody knows who took part in the releases that are missing. A person has one place in a study,
so they cost a person at most what the witness has noted. Everybody, known or not, is charged that. Cohorts that were
not released in the copy may have been released after it: their places go to other people.
"""

import hmac
import json
import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from maskedbandit.errors import BehindWitness, InvalidValue
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.store.accounts import Accounts, Losses, add_charge, find_places
from maskedbandit.store.book.chain import ENTRY, Head, Link, check_chain, is_on_chain, next_link, read_links
from maskedbandit.store.book.entries import parse_entries, state_after
from maskedbandit.store.book.entry import Entry
from maskedbandit.store.book.site_entries import Discarded
from maskedbandit.store.book.witness import Seen, Witness
from maskedbandit.store.databases.database import Database, Row
from maskedbandit.store.erasure import forget_memories, remove_place
from maskedbandit.store.lease import read_clock
from maskedbandit.store.members import read_members
from maskedbandit.store.study_rows import read_studies, read_study
from maskedbandit.store.traces import Scrubber
from maskedbandit.study.protocol import Protocol
from maskedbandit.words import say_duration

EXPORTED_TABLES = {
    "loss": "loss, text",
    "entry": "number, body, hash, signature",
    "decision": "number, step, arm, n, close",
    "release": "cohort, step, arm, n, total, loss, members, memory",
    "erased": "person, period, loss",
}


NONCE, LEAF = 12, 64  # bytes; digits of a leaf, and fewer than of any text that is concealed


def hash_ticket(ticket: str) -> str:
    """What an export says of a ticket."""
    return sha256(ticket.encode()).hexdigest()


def make_cipher(witness: Witness) -> AESGCM:
    """What conceals noise and leaves in an export."""
    return AESGCM(hmac.digest(witness.signing_key().private_bytes_raw(), b"maskedbandit export", sha256))


def export_ledger(database: Database, witness: Witness, study: str) -> Iterator[str]:
    """What another copy needs to catch up, a row in each line; all of it is at the witness."""
    with database.still():
        yield from tell_rows(database, witness, study)


def tell_rows(database: Database, witness: Witness, study: str) -> Iterator[str]:
    """See `export_ledger`."""
    if (seen := witness.seen(study)) is None or len(read_links(database, study)) != seen.head.entries:
        raise BehindWitness(f"the ledger of {study} is not where its witness is: open the study once, or reconcile it")
    here = read_study(database, study)
    yield json.dumps(["study", here.people, here.reached])
    for table, columns in EXPORTED_TABLES.items():
        where, values = ("", ()) if table == "loss" else ("WHERE study = ?", (study,))
        for row in database.rows(f"SELECT {columns} FROM {table} {where}", *values):
            *rest, memory = row
            yield json.dumps([table, *rest, conceal_text(memory, witness) if table == "release" else memory])
    columns = "ticket, place, arm, person, propensity, loss, period, assigned, exposed, site"
    for (cohort,) in database.rows("SELECT cohort FROM release WHERE study = ? ORDER BY cohort", study):
        leaves = [member.leaf for member in read_members(database, study, cohort)]
        rows = database.rows(
            f"SELECT {columns} FROM place WHERE study = ? AND cohort = ? AND returned IS NULL ORDER BY place",
            *(study, cohort),
        )
        for (ticket, *rest), leaf in zip(rows, leaves, strict=True):
            yield json.dumps(["place", cohort, conceal_text(leaf, witness), hash_ticket(ticket), *rest])


def bring_back(database: Database, witness: Witness, study: str, file: Path) -> str:
    """Fill the gap with what was exported, or raise and change nothing."""
    try:
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        found = {table: [row[1:] for row in lines if row[0] == table] for table in ("study", *EXPORTED_TABLES, "place")}
        ((people, clock),) = found["study"]
        theirs = sorted(Link(*row) for row in found["entry"])
    except (OSError, ValueError, TypeError, IndexError, KeyError) as why:
        raise InvalidValue("FILE", str(file), f"what `ledger export` wrote ({why})") from None
    seen = find_gap(database, witness, study)
    head, ours = check_chain(study, theirs, witness.signing_key().public_key()), read_links(database, study)
    if head.entries < seen.head.entries or theirs[seen.head.entries - 1].hash != seen.head.hash:
        allowed = f"an export with the {seen.head.entries} entries that the witness has seen; it has {head.entries}"
        raise InvalidValue("FILE", str(file), allowed)
    if theirs[: len(ours)] != ours:
        raise BehindWitness(f"{file} is of another history of {study} than this database: use the other copy")
    releases = [[*row[:-1], reveal_text(row[-1], witness, file)] for row in found["release"]]
    dealt = [[cohort, reveal_text(leaf, witness, file), *row] for cohort, leaf, *row in found["place"]]
    with database.transaction():
        fence_off(database, study)
        add_missing(database, "loss", EXPORTED_TABLES["loss"], found["loss"])
        known = {row[0] for row in database.rows("SELECT cohort FROM release WHERE study = ?", study)}
        new = {release[0] for release in releases} - known
        for table, rows in (
            ("entry", theirs[len(ours) :]),
            ("decision", found["decision"]),
            ("release", [each for each in releases if each[0] in new]),
        ):
            add_missing(database, table, f"study, {EXPORTED_TABLES[table]}", [(study, *row) for row in rows])
        discard_again(database, study, parse_entries(study, theirs)[len(ours) :], clock)
        before = count_charges(database, study)
        changed = new | {row[0] for row in dealt if row[5] is None}  # in which somebody was erased
        take_places(database, study, [row for row in dealt if row[0] in changed])
        released = "SELECT cohort FROM release WHERE study = ?"
        for table in ("listed", "round", "round_message"):
            database.change(f"DELETE FROM {table} WHERE study = ? AND cohort IN ({released})", study, study)
        take_erasures(database, study, Counter(map(tuple, found["erased"])), before)
        state = state_after(parse_entries(study, theirs))
        if state == "archived":
            empty_places(database, study, {person for person, *_ in count_charges(database, study)})
            forget_memories(database, study)
        keep = "UPDATE study SET people = ?, reached = ?, state = ?, traces = traces + 1 WHERE study = ?"
        database.change(keep, people, clock, state, study)
        brought = head.entries - len(ours)
        if Protocol.from_text(read_study(database, study).protocol).shuffled and state != "archived":
            head = write_burned(database, witness, study, head, 0, seen._replace(worst=ZERO.to_text()))
    witness.saw(study, head, find_worst(database, study, seen).to_text())
    Scrubber().scrub(database)
    return f"{study}: {brought} entries and {len(new)} releases were brought back from {file}"


def discard_again(database: Database, study: str, missing: Sequence[Entry], now: int) -> None:
    """Free the places that the copy has of cohorts that were discarded after it was made: they are those of others now.

    A cohort that the sites have begun to add up since, with people of whom nothing is known here, is discarded later,
    when it is full again and its round fails.
    """
    for cohort in {each.cohort for each in missing if isinstance(each, Discarded)}:
        free = "UPDATE place SET returned = ? WHERE study = ? AND cohort = ? AND returned IS NULL"
        database.change(free, now, study, cohort)
        for table in ("listed", "round", "round_message"):
            database.change(f"DELETE FROM {table} WHERE study = ? AND cohort = ?", study, cohort)


def add_missing(database: Database, table: str, columns: str, rows: Sequence[Sequence[Any]]) -> None:
    """Those rows that are not there yet."""
    if rows:
        database.insert_missing(table, columns, rows)


def conceal_text(text: str, witness: Witness) -> str:
    """A text that only the keys of the witness can read."""
    nonce = secrets.token_bytes(NONCE)
    return (nonce + make_cipher(witness).encrypt(nonce, text.encode(), None)).hex()


def reveal_text(hidden: str, witness: Witness, file: Path) -> str:
    """The text that an export conceals; older ones did not conceal leaves."""
    if isinstance(hidden, str) and len(hidden) == LEAF:
        return hidden
    try:
        found = bytes.fromhex(hidden)
        return make_cipher(witness).decrypt(found[:NONCE], found[NONCE:], None).decode()
    except (InvalidTag, TypeError, ValueError):
        raise InvalidValue("FILE", str(file), "what `ledger export` wrote with the keys of this witness") from None


def burn_missing(database: Database, witness: Witness, study: str) -> str:
    """Charge everybody for what is missing, and go on."""
    seen, ours = find_gap(database, witness, study), read_links(database, study)
    loss, head = Loss.from_text(seen.worst), check_chain(study, ours, witness.signing_key().public_key())
    missing = max(seen.head.entries - head.entries, 1)
    with database.transaction():
        project, protocol = (row := read_study(database, study)).project, Protocol.from_text(row.protocol)
        for each in read_studies(database):
            if each.project == project:
                fence_off(database, each.name)  # whoever has it open knows what was burned before
        Accounts(database, Losses(database), project).burn(loss)
        head = write_burned(database, witness, study, head, missing, seen)
    witness.saw(study, head, seen.worst)
    budget, period = protocol.budget, protocol.period
    until = "for ever" if period is None else f"in the {say_duration(period)} that are running"
    return (
        f"{study}: everybody in project {project}, whoever is yet to come as well, was charged {loss} for {missing} "
        f"missing entries, of a budget of {budget} {until}: nobody gets a place who has too little left"
    )


def write_burned(database: Database, witness: Witness, study: str, head: Head, missing: int, seen: Seen) -> Head:
    """Write down what everybody was charged, and give the places of cohorts without a release to other people.

    With a shuffler that is so although nothing is missing. It has the reports of people who came after the copy was
    made, of whom nothing is known here, nor were they charged here; after this entry their passes fit no cohort.
    """
    database.change(
        "UPDATE place SET returned = assigned WHERE study = ? AND returned IS NULL "
        "AND cohort NOT IN (SELECT cohort FROM release WHERE study = ?)",
        *(study, study),
    )
    for table in ("listed", "round", "round_message"):
        database.change(f"DELETE FROM {table} WHERE study = ?", study)
    says = {"kind": "burned", "missing": missing, "witness": seen.head.hash, "loss": seen.worst}
    entry = next_link(study, head, {**says, "at": read_clock()}, witness.signing_key())
    database.insert("entry", ENTRY, [(study, *entry)])
    return Head(entry.number + 1, entry.hash)


def find_gap(database: Database, witness: Witness, study: str) -> Seen:
    """What the witness has seen, if this database is behind it."""
    seen, ours = witness.seen(study), read_links(database, study)
    if seen is None:
        raise BehindWitness(f"the witness in {witness.folder} has never seen {study}")
    if is_on_chain(database, study, seen.head):
        raise InvalidValue("the ledger", f"{len(ours)} entries", "behind its witness: nothing is missing here")
    return seen


def fence_off(database: Database, study: str) -> None:
    """Fence off whoever has the study open, and remove what was counted of it."""
    database.change("UPDATE study SET fence = fence + 1, holder = '', lease = 0 WHERE study = ?", study)
    database.change("DELETE FROM tally WHERE study = ?", study)


def take_places(database: Database, study: str, found: list[list[Any]]) -> None:
    """Take these places as those of their cohorts, and charge those people for them who were not."""
    losses = Losses(database)
    project = read_study(database, study).project
    ours = database.rows("SELECT ticket FROM place WHERE study = ?", study)
    charged = {hash_ticket(ticket): ticket for (ticket,) in ours}
    for cohort in {row[0] for row in found}:
        database.change("UPDATE place SET returned = assigned WHERE study = ? AND cohort = ?", study, cohort)
    find = "SELECT person, ticket FROM place WHERE study = ? AND returned IS NULL AND person IS NOT NULL"
    others: dict[str, str] = dict(database.rows(find, study))  # places of other cohorts that people have
    for cohort, leaf, hidden, place, arm, person, propensity, loss, period, assigned, exposed, *of in found:
        site = of[0] if of else None  # of which older exports say nothing
        ticket = charged.get(hidden, hidden)  # nobody asks for one that only the lost database had
        for statement in ("DELETE FROM reward", "DELETE FROM upload", "DELETE FROM place"):
            database.change(f"{statement} WHERE study = ? AND ticket = ?", study, ticket)
        if person in others:  # who was given another place since has been charged for both
            back = "UPDATE place SET returned = assigned WHERE study = ? AND ticket = ?"
            database.change(back, study, others[person])
        database.change(
            "INSERT INTO place "
            "(study, ticket, cohort, place, arm, person, propensity, loss, period, assigned, exposed, leaf, site) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(study, ticket, cohort, place, arm, person, propensity, loss, period, assigned, exposed, leaf, site),
        )
        if hidden not in charged and person is not None:
            add_charge(database, losses, (project, person, period), loss, f"{ticket} ")


def count_charges(database: Database, study: str) -> Counter[Row]:
    """What people were charged for places of this study: how often a person, a period and a loss go together."""
    own = "SELECT person, period, loss FROM place WHERE study = ? AND person IS NOT NULL"
    return Counter(
        database.rows(f"{own} UNION ALL SELECT person, period, loss FROM erased WHERE study = ?", study, study)
    )


def take_erasures(database: Database, study: str, theirs: Counter[Row], before: Counter[Row]) -> None:
    """Erase those who were erased after the copy was made, and charge them for what they were not charged before."""
    losses = Losses(database)
    project = read_study(database, study).project
    empty_places(database, study, {person for person, *_ in theirs})
    database.change("DELETE FROM erased WHERE study = ?", study)
    for person, period, loss in theirs.elements():
        database.insert("erased", f"study, {EXPORTED_TABLES['erased']}", [(study, person, period, loss)])
    for person, period, loss in (theirs - before).elements():
        add_charge(database, losses, (project, person, period), loss)


def empty_places(database: Database, study: str, people: set[str]) -> None:
    """Remove the data of these people from the copy."""
    for person in people:
        for (ticket,) in find_places(database, study, person, "ticket"):
            remove_place(database, study, ticket, person)


def find_worst(database: Database, study: str, seen: Seen) -> Loss:
    """The largest loss of a release."""
    losses, found = Losses(database), Loss.from_text(seen.worst)
    for (loss,) in database.rows("SELECT DISTINCT loss FROM release WHERE study = ?", study):
        found |= losses[loss]
    return found
