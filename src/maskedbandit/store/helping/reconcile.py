"""A helper's database that is older than its witness: a copy was restored, and what was made of cohorts is missing.

**Bringing back.** `export_help` writes the ledger, and what was answered of the reports of each cohort that has a
total. It has no share. If such a file reaches as far as the witness has seen, the gap is filled, and the leader, who
may ask again, is told what it was told before.

**Ending.** Without it nobody knows of which cohorts the missing totals were. A second total of one of them, with other
noise, would cost its people as much again. So the helper makes no total of the study any more.

Reports of cohorts without a total that are missing are offered again by the leader: their seals fit one place alone.

A shuffler is brought back likewise, with the messages of each cohort that it mixed, in their order; bundles of people
are in no export. A second mix of a cohort could be a shorter one, so without an export it mixes nothing any more.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from maskedbandit.errors import BehindWitness, InvalidValue
from maskedbandit.store.book.chain import ENTRY, Head, Link, check_chain, next_link, read_links
from maskedbandit.store.book.entries import Helped, Mixed, parse_entries, state_after
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database, Row
from maskedbandit.store.helping.book import collect_helped, read_help_book
from maskedbandit.store.helping.people import forget_people
from maskedbandit.store.helping.reports import COLUMNS, TakenReport, read_taken
from maskedbandit.store.helping.totals import seal_answers
from maskedbandit.store.lease import read_clock
from maskedbandit.store.reconcile import fence_off, find_gap
from maskedbandit.store.study_rows import read_study
from maskedbandit.store.traces import Scrubber
from maskedbandit.study.mix_statement import digest_messages
from maskedbandit.study.protocol import Protocol


def export_help(database: Database, witness: Witness, study: str) -> Iterator[str]:
    """What another copy needs to catch up, a row in each line; all of it is at the witness."""
    with database.still():
        book = read_help_book(database, witness, study)
        if book.head != book.seen:
            raise BehindWitness(f"the ledger of {study} is not where its witness is: open the study once")
        yield json.dumps(["study", read_study(database, study).reached])
        for link in read_links(database, study):
            yield json.dumps(["entry", *link])
        for cohort in sorted(book.totals):
            for taken in read_taken(database, study, cohort):
                yield json.dumps(["report", *taken])
        for cohort in sorted(book.mixes):
            for number, message in read_mixed(database, study, cohort):
                yield json.dumps(["message", cohort, number, message])


def bring_back_help(database: Database, witness: Witness, study: str, file: Path) -> str:
    """Fill the gap with what was exported, or raise and change nothing."""
    try:
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        found = {kind: [row[1:] for row in lines if row[0] == kind] for kind in ("study", "entry", "report", "message")}
        ((clock,),) = found["study"]
        theirs = sorted(Link(*row) for row in found["entry"])
        reports = [TakenReport(*row) for row in found["report"]]
        mixed = [(int(cohort), int(number), bytes.fromhex(text)) for cohort, number, text in sorted(found["message"])]
    except (OSError, ValueError, TypeError, LookupError) as why:
        raise InvalidValue("FILE", str(file), f"what `ledger export` wrote ({why})") from None
    seen, ours = find_gap(database, witness, study), read_links(database, study)
    head = check_chain(study, theirs, witness.signing_key().public_key())
    if head.entries < seen.head.entries or theirs[seen.head.entries - 1].hash != seen.head.hash:
        allowed = f"an export with the {seen.head.entries} entries that the witness has seen; it has {head.entries}"
        raise InvalidValue("FILE", str(file), allowed)
    if theirs[: len(ours)] != ours:
        raise BehindWitness(f"{file} is of another history of {study} than this database: use the other copy")
    entries = parse_entries(study, theirs)
    helped = collect_helped(study, Protocol.from_text(read_study(database, study).protocol), entries)
    totals = {cohort: each for cohort, each in helped.items() if isinstance(each, Helped)}
    for cohort, made in totals.items():
        of_cohort = sorted((each for each in reports if each.cohort == cohort), key=lambda each: each.place)
        if seal_answers(of_cohort) != made.answers:
            raise InvalidValue("FILE", str(file), f"one whose reports of cohort {cohort} were not changed")
    if (state := state_after(entries)) != "stopped":  # then there are none any more
        check_mixed(file, [each for each in helped.values() if isinstance(each, Mixed)], mixed)
    with database.transaction():
        fence_off(database, study)
        database.insert("entry", ENTRY, [(study, *link) for link in theirs[len(ours) :]])
        for cohort in totals:
            database.change("DELETE FROM helped_report WHERE study = ? AND cohort = ?", study, cohort)
        if kept := [each._replace(locked=None) for each in reports if each.cohort in totals]:
            database.insert("helped_report", f"study, {COLUMNS}", [(study, *each) for each in kept])
        for cohort in helped.keys() - totals.keys():
            for table in ("bundle", "mixed"):
                database.change(f"DELETE FROM {table} WHERE study = ? AND cohort = ?", study, cohort)
        if mixed:
            rows = [(study, cohort, number, message.hex()) for cohort, number, message in mixed]
            database.insert("mixed", "study, cohort, number, message", rows)
        if state == "stopped":  # whose shares were erased after the copy was made
            forget_people(database, study)
        keep = "UPDATE study SET reached = ?, state = ?, traces = traces + 1 WHERE study = ?"
        database.change(keep, clock, state, study)
    witness.saw(study, head, seen.worst)
    Scrubber().scrub(database)
    return f"{study}: {head.entries - len(ours)} entries were brought back from {file}"


def read_mixed(database: Database, study: str, cohort: int) -> list[Row]:
    """The messages of a cohort that was mixed, in hexadecimal, each with its number."""
    find = "SELECT number, message FROM mixed WHERE study = ? AND cohort = ? ORDER BY number"
    return database.rows(find, study, cohort)


def check_mixed(file: Path, mixes: Sequence[Mixed], mixed: Sequence[tuple[int, int, bytes]]) -> None:
    """Raise `InvalidValue` unless these are the messages of all cohorts that were mixed."""
    for each in mixes:
        found = [message for cohort, _, message in mixed if cohort == each.cohort]
        if digest_messages(found) != each.digest:
            raise InvalidValue("FILE", str(file), f"one whose messages of cohort {each.cohort} were not changed")


def end_help(database: Database, witness: Witness, study: str) -> str:
    """Make no more totals of a study, of which some are missing here, and erase all shares."""
    seen, ours = find_gap(database, witness, study), read_links(database, study)
    key = witness.signing_key()
    head = check_chain(study, ours, key.public_key())
    missing = max(seen.head.entries - head.entries, 1)
    with database.transaction():
        fence_off(database, study)
        says = {"kind": "help_ended", "missing": missing, "witness": seen.head.hash, "at": read_clock()}
        entry = next_link(study, head, says, key)
        database.insert("entry", ENTRY, [(study, *entry)])
        forget_people(database, study)
        database.change("UPDATE study SET state = 'stopped', traces = traces + 1 WHERE study = ?", study)
    witness.saw(study, Head(entry.number + 1, entry.hash), seen.worst)
    Scrubber().scrub(database)
    return f"{study}: {missing} entries are missing here, so nothing is added up or mixed any more"
