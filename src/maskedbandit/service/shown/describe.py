"""Studies as the service describes them, from the database and what the witness has seen."""

from maskedbandit.errors import BehindWitness, Forbidden, UnknownStudy
from maskedbandit.privacy.loss import Loss
from maskedbandit.service.keys import Key
from maskedbandit.service.messages import StudyState
from maskedbandit.service.shown.published import Released
from maskedbandit.store.book.chain import Entry
from maskedbandit.store.book.checked import state_of
from maskedbandit.store.book.published import published
from maskedbandit.store.book.standing import standing
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.study.protocol import Protocol


def protocol_of(database: Database, name: str) -> Protocol:
    """The protocol of a study, without arms that were added."""
    row = database.one("SELECT protocol FROM study WHERE study = ?", name)
    if row is None:
        raise UnknownStudy(f"there is no study {name!r}")
    return Protocol.from_text(row[0])


def is_simulated(found: list[Entry]) -> bool:
    """Whether the ledger says that all people of the study are simulated."""
    return any(entry.says.get("simulated", False) for entry in found[:1])


def simulated(database: Database, name: str) -> bool:
    """The same, of a study by its name."""
    row = database.one("SELECT number, body, hash, signature FROM entry WHERE study = ? AND number = 0", name)
    return row is not None and is_simulated([Entry(*row)])


def described(database: Database, witness: Witness, name: str) -> StudyState:
    """How a study stands, in what the witness has seen: a release may pause it, or put an arm out of play."""
    witness = witness.as_now()  # first: the ledger may only go on from what was seen
    with database.still():
        protocol, people, found, horizon = published(database, witness, name)
        if people is None:
            kept = "SELECT COUNT(*) FROM place WHERE study = ? AND assigned < ? AND returned IS NULL"
            ((people,),) = database.rows(kept, name, horizon.time)
    return stands(protocol, found, int(people), state_of(entry.says["kind"] for entry in found))


def in_list(database: Database, witness: Witness, name: str) -> StudyState:
    """The same; of a study whose ledger is not the one that the witness knows only what was planned."""
    try:
        return described(database, witness, name)
    except BehindWitness as why:
        return stands(protocol_of(database, name), [], 0, why.code)


def stands(protocol: Protocol, found: list[Entry], people: int, state: str) -> StudyState:
    """How a study stands with these entries in its ledger."""
    names = [arm for arm, _ in protocol.arms]
    return StudyState(
        study=protocol.name,
        about=protocol.about,
        state=state,
        simulated=is_simulated(found),
        people=people,
        of=protocol.people,
        arms=names,
        in_play=[names[arm] for arm in standing(protocol.name, protocol, found).in_play],
        policy=type(protocol.policy).__name__,
        channel=type(protocol.channel).__name__,
        trust=protocol.channel.trust,
        budget=str(protocol.budget),
        period=protocol.period,
        window=protocol.reward.window,
        protocol=protocol.digest,
    )


def releases_of(protocol: Protocol, found: list[Entry]) -> list[Released]:
    """The releases among these entries of a ledger."""
    return [
        Released(
            cohort=says["cohort"],
            arm=protocol.arms[says["arm"]][0],
            n=says["n"],
            total=float.fromhex(says["total"]),
            loss=str(Loss.from_text(says["loss"])),
            at=says["at"],
            entry=entry.number,
        )
        for entry in found
        if (says := entry.says)["kind"] == "released"
    ]


def visible(key: Key | None, name: str) -> None:
    """Raise `Forbidden` if a key is for another study."""
    if key is not None and key.study not in (None, name):
        raise Forbidden("this key is for another study")
