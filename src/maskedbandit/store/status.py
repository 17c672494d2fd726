"""How a study stands, in text: what was released, and operational counts; no reward that was not released is read.

Only what the witness has seen is shown (book.py).
"""

from datetime import UTC, datetime

from maskedbandit.store.book.book import Book, read_published
from maskedbandit.store.book.entries import ArmChange, Burned, Entry, Release, Started
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.theory.sequences import mean_intervals, sums


def status(database: Database, witness: Witness, name: str) -> str:
    """A line for the study, one for each arm, and one for the answer, if there is one."""
    witness = witness.as_now()  # first: the ledger may only go on from what was seen
    with database.still():
        book = read_published(database, witness, name)
        lines, named = table(database, book), book.named
    if named is not None:
        names = ", ".join(book.protocol.arms[arm][0] for arm in named) or "no arm"
        what = "from now on everybody is served" if book.protocol.policy.goal == "regret" else "answer:"
        wrong = book.wrong_at_most
        surely = "" if wrong is None else f", wrong with probability at most {wrong:g}"
        lines.append(f"{what} {names}{surely}")
    return "\n".join(lines)


def table(database: Database, book: Book) -> list[str]:
    """The lines of the study and of its arms."""
    protocol, guardrail = book.protocol, book.protocol.guardrail
    released: list[list[Release]] = [[] for _ in protocol.arms]
    for each in book.releases:
        released[each.arm].append(each)
    count = "SELECT arm, COUNT(*) FROM place WHERE study = ? AND assigned < ? AND returned IS NULL GROUP BY arm"
    dealt = {arm: int(places) for arm, places in database.rows(count, book.study, book.horizon.time)}
    many = sum(dealt.values()) if book.people is None else book.people
    of = f" of {protocol.people}" if protocol.people else ""
    lines = [
        f"{book.study}: {book.state}, {many}{of} people, {len(book.releases)} releases, "
        f"{type(protocol.channel).__name__} at a budget of {protocol.budget} a person",
        f"{'arm':16} {'places':>9} {'released':>9} {'cohorts':>8} {'mean, with noise':>17} {'95 % at any time':>19}"
        + (f" {guardrail.name}" if guardrail else ""),
    ]
    law, units = protocol.channel.law(), protocol.reward.in_units
    bands = mean_intervals(law, [sums(law, known) for known in released])
    for arm, ((label, _), known, band) in enumerate(zip(protocol.arms, released, bands, strict=True)):
        n, total = sum(each.n for each in known), sum(each.total for each in known)
        mean = f"{units(total / n):.4g}" if n else "-"
        ends = f"{units(band.low):.4g} to {units(band.high):.4g}" if n else "-"
        if guardrail:
            second = sum(each.guardrail or 0.0 for each in known)
            other = f"{guardrail.outcome.in_units(second / n):.4g}" if n else "-"
            ends = f"{ends:>19} {other:>{len(guardrail.name)}}"
        how = "" if arm in book.standing.in_play else f"  {book.standing.is_said(arm)}"
        lines.append(f"{label:16} {dealt.get(arm, 0):9} {n:9} {len(known):8} {mean:>17} {ends:>19}{how}")
    return lines


def shown(database: Database, witness: Witness, name: str) -> list[str]:
    """A line for each entry of the ledger."""
    lines = [f"{'entry':>5}  {'time':19}  {'what':11}  {'hash':12}"]
    witness = witness.as_now()
    for entry in read_published(database, witness, name).entries:
        time = datetime.fromtimestamp(entry.at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
        lines.append(f"{entry.number:5}  {time}  {entry.kind:11}  {entry.hash[:12]}  {describe_entry(entry)}".rstrip())
    return lines


def describe_entry(entry: Entry) -> str:
    """What an entry says beyond its kind."""
    match entry:
        case Release(cap=cap, total=total):
            units = f" in units of {cap} rewards" if cap > 1 else ""
            return (
                f"cohort {entry.cohort}, arm {entry.arm}: {total:g}{units} of {entry.n} people, who lose {entry.loss}"
            )
        case ArmChange(name=name):
            return name + (f", stage with {len(entry.arms)} arms in play" if entry.step is not None else "")
        case Started(protocol=protocol):
            return f"protocol {protocol[:16]}"
        case Burned(loss=loss):
            return f"everybody is charged {loss} for {entry.missing} missing entries"
    return ""
