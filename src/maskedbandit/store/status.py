"""How a study stands, in text: what was released, and operational counts; no reward that was not released is read.

Only what the witness has seen is shown (published.py).
"""

from datetime import UTC, datetime

from maskedbandit.core import Release
from maskedbandit.privacy.loss import Loss
from maskedbandit.store.book.asked import asked, named_by
from maskedbandit.store.book.chain import Entry
from maskedbandit.store.book.checked import state_of
from maskedbandit.store.book.published import published
from maskedbandit.store.book.standing import KINDS, stages, standing, wrong_at_most
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.study.protocol import Protocol
from maskedbandit.theory.sequences import mean_intervals, sums


def status(database: Database, witness: Witness, name: str) -> str:
    """A line for the study, one for each arm, and one for the answer, if there is one."""
    witness = witness.as_now()  # first: the ledger may only go on from what was seen
    with database.still():
        protocol, people, found, horizon = published(database, witness, name)
        lines = table(database, name, protocol, people, found, horizon.time)
        steps = {says["cohort"]: says["step"] for says in (entry.says for entry in found) if says["kind"] == "released"}
        answer = asked(database, name, protocol, steps, stages(found), horizon.step).answer
        named = named_by(database, name, protocol, found, answer, horizon.step)
        wrong = wrong_at_most(protocol, standing(name, protocol, found))
    if named is not None:
        names = ", ".join(protocol.arms[arm][0] for arm in named) or "no arm"
        what = "from now on everybody is served" if protocol.policy.goal == "regret" else "answer:"
        surely = "" if wrong is None else f", wrong with probability at most {wrong:g}"
        lines.append(f"{what} {names}{surely}")
    return "\n".join(lines)


def table(
    database: Database, name: str, protocol: Protocol, people: int | None, found: list[Entry], until: int
) -> list[str]:
    """The lines of the study and of its arms, with the places that were given before a time."""
    arms, state = standing(name, protocol, found), state_of(entry.says["kind"] for entry in found)
    released: list[list[Release]] = [[] for _ in protocol.arms]
    second = [0.0] * protocol.k  # totals of the guardrail
    for says in (entry.says for entry in found):
        if says["kind"] == "released":
            released[says["arm"]].append(Release(says["arm"], says["n"], float.fromhex(says["total"])))
            second[says["arm"]] += float.fromhex(says.get("guardrail", "0x0p+0"))
    count = "SELECT arm, COUNT(*) FROM place WHERE study = ? AND assigned < ? AND returned IS NULL GROUP BY arm"
    dealt = {arm: int(places) for arm, places in database.rows(count, name, until)}
    guardrail = protocol.guardrail
    many = sum(dealt.values()) if people is None else people
    of = f" of {protocol.people}" if protocol.people else ""
    lines = [
        f"{name}: {state}, {many}{of} people, {sum(map(len, released))} releases, "
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
            other = f"{guardrail.outcome.in_units(second[arm] / n):.4g}" if n else "-"
            ends = f"{ends:>19} {other:>{len(guardrail.name)}}"
        how = "" if arm in arms.in_play else f"  {arms.is_said(arm)}"
        lines.append(f"{label:16} {dealt.get(arm, 0):9} {n:9} {len(known):8} {mean:>17} {ends:>19}{how}")
    return lines


def shown(database: Database, witness: Witness, name: str) -> list[str]:
    """A line for each entry of the ledger."""
    lines = [f"{'entry':>5}  {'time':19}  {'what':11}  {'hash':12}"]
    witness = witness.as_now()
    for entry in published(database, witness, name).entries:
        says = entry.says
        time = datetime.fromtimestamp(says["at"] / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
        more = ""
        if says["kind"] == "released":
            loss, total = Loss.from_text(says["loss"]), float.fromhex(says["total"])
            units = f" in units of {says['cap']} rewards" if "cap" in says else ""
            more = (
                f"cohort {says['cohort']}, arm {says['arm']}: {total:g}{units} of {says['n']} people, who lose {loss}"
            )
        elif says["kind"] in KINDS:
            more = f"{says['name']}" + (f", stage with {len(says['arms'])} arms in play" if "step" in says else "")
        elif says["kind"] == "started":
            more = f"protocol {says['protocol'][:16]}"
        elif says["kind"] == "burned":
            more = f"everybody is charged {Loss.from_text(says['loss'])} for {says['missing']} missing entries"
        lines.append(f"{entry.number:5}  {time}  {says['kind']:11}  {entry.hash[:12]}  {more}".rstrip())
    return lines
