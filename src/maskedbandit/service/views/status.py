"""How a study stands, in text: what may be shown of it, and no more."""

from datetime import UTC, datetime

from maskedbandit.service.views.view import SAID_FINISH, StudyView, read_view
from maskedbandit.store.book.book import read_published
from maskedbandit.store.book.entries import ArmChange, Burned, Entry, HelperLost, Release, Started
from maskedbandit.store.book.standing import wrong_at_most
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.words import say_things


def write_status(database: Database, witness: Witness, name: str) -> str:
    """A line for the study, one for each arm, and one for the answer, if there is one."""
    found = read_view(database, witness, name, now=0)  # nothing here depends on the time
    lines = table(found)
    if found.named is not None:
        names = ", ".join(found.arms[arm].name for arm in found.named) or "no arm"
        what = "from now on everybody is served" if found.protocol.policy.purpose.serves else "answer:"
        wrong = wrong_at_most(found.protocol, found.standing)
        surely = "" if wrong is None else f", wrong with probability at most {wrong:g}"
        lines.append(f"{what} {names}{surely}")
    return "\n".join(lines)


def table(found: StudyView) -> list[str]:
    """The lines of the study and of its arms."""
    protocol, counts, further = found.protocol, found.counts, [each.metric for each in found.protocol.outcomes[1:]]
    many = sum(counts.dealt) if counts.placed is None else counts.placed
    of = f" of {protocol.people}" if protocol.people else ""
    state = f"finished ({SAID_FINISH[found.finish.why]})" if found.finish else found.state
    lines = [
        f"{found.name}: {state}, {many}{of} people, {len(found.releases)} releases, "
        f"{type(protocol.channel).__name__} at a budget of {protocol.budget} a person",
        f"{'arm':16} {'places':>9} {'released':>9} {'cohorts':>8} {'mean, with noise':>17} {'95 % at any time':>19}"
        + "".join(f" {name}" for name in further),
    ]
    units = protocol.reward.in_units
    for arm, dealt in zip(found.arms, counts.dealt, strict=True):
        n, cohorts, mean, ends = 0, 0, "-", "-"
        if (known := arm.estimate) is not None:
            n, cohorts, mean = known.n, known.cohorts, f"{units(known.mean):.4g}"
            ends = f"{units(known.outer.low):.4g} to {units(known.outer.high):.4g}"
        means = [f"{each.mean:.4g}" for each in ([arm.guarded] if arm.guarded else []) + arm.metrics]
        columns = zip(further, means or ["-"] * len(further), strict=True)
        ends = f"{ends:>19}" + "".join(f" {mean:>{len(name)}}" for name, mean in columns)
        how = "" if arm.stands == "in play" else f"  {arm.stands}"
        lines.append(f"{arm.name:16} {dealt:9} {n:9} {cohorts:8} {mean:>17} {ends:>19}{how}")
    return lines


def write_ledger(database: Database, witness: Witness, name: str) -> list[str]:
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
            what = f"cohort {entry.cohort}, arm {entry.arm}: {total:g}{units} of {entry.n} people"
            return f"{what}, who lose {entry.loss}"
        case ArmChange(name=name):
            return name + (f", stage with {len(entry.arms)} arms in play" if entry.step is not None else "")
        case Started(protocol=protocol):
            return f"protocol {protocol[:16]}"
        case Burned(loss=loss):
            return f"everybody is charged {loss} for {entry.missing} missing entries"
        case HelperLost(cohorts=cohorts):
            return f"without its helper {say_things(len(cohorts), 'full cohort')} will never be released"
    return ""
