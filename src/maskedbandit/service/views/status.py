"""How a study stands, in text: what may be shown of it, and no more."""

from datetime import UTC, datetime

from maskedbandit.service.study_messages import AttentionItem
from maskedbandit.service.views.view import SAID_FINISH, StudyView, read_view
from maskedbandit.store.book.book import read_published
from maskedbandit.store.book.entries import ArmChange, Burned, HelperLost, Release, Started
from maskedbandit.store.book.entry import Entry, Requested
from maskedbandit.store.book.site_entries import SitesChanged, SitesConfirmed
from maskedbandit.store.book.standing import wrong_at_most
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.words import say_things


def write_status(database: Database, witness: Witness, name: str, now: int) -> str:
    """A line for the study, one for each arm, one for the answer, if there is one, and what needs attention."""
    found = read_view(database, witness, name, now)
    lines = table(found)
    if found.gain is not None:
        width, what = found.protocol.reward.width, "all whom the policy placed"
        mean, low, high = (width * each for each in (found.gain.mean, *found.gain.interval))
        lines.append(f"{what}, minus {found.base.name}: {mean:.4g}, 95 % at any time {low:.4g} to {high:.4g}")
    if found.named is not None:
        names = ", ".join(found.arms[arm].name for arm in found.named) or "no arm"
        what = "from now on everybody is served" if found.protocol.policy.purpose.serves else "answer:"
        wrong = wrong_at_most(found.protocol, found.standing)
        surely = "" if wrong is None else f", wrong with probability at most {wrong:g}"
        lines.append(f"{what} {names}{surely}")
    return "\n".join([*lines, *(write_item(each) for each in found.attention)])


def write_item(item: AttentionItem) -> str:
    """What needs attention, and since when."""
    since = (
        "" if item.since is None else f" (since {datetime.fromtimestamp(item.since / 1000, UTC):%Y-%m-%d %H:%M} UTC)"
    )
    return f"! {item.says}{since} {item.advice}"


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
        what = ", ".join(each for each in (describe_entry(entry), say_who_asked(entry)) if each)
        lines.append(f"{entry.number:5}  {time}  {entry.kind:11}  {entry.hash[:12]}  {what}".rstrip())
    return lines


def say_who_asked(entry: Entry) -> str:
    """Whose keys an entry names: of whoever asked for it, and of the officer who approved a start."""
    keys = []
    if isinstance(entry, Requested) and entry.by:
        keys.append(f"by key {entry.by}")
    if isinstance(entry, Started) and entry.approved_by:
        keys.append(f"approved by key {entry.approved_by}")
    return ", ".join(keys)


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
        case SitesChanged(first=first, sites=sites):
            return f"{', '.join(each.name for each in sites)}, from cohort {first} on"
        case SitesConfirmed(site=site, name=name):
            return f"site {site} agreed to {name[:16]}"
        case HelperLost(cohorts=cohorts):
            return f"without its helper {say_things(len(cohorts), 'full cohort')} will never be released"
    return ""
