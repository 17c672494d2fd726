"""What is announced of a study: entries of its ledger, and that something begins or ends to hold of it.

All of it follows from what the witness has seen, as everything that is shown. An entry is announced as `GET /releases`
and the page say it; what holds is what the page says at its top. So an announcement has nothing that was not released,
and its bytes are the same however often it is made again.
"""

import json
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from maskedbandit.service.views.release_answers import show_release
from maskedbandit.service.views.view import StudyView
from maskedbandit.store.book.book import Book
from maskedbandit.store.book.entries import ArmChange, Release
from maskedbandit.store.book.entry import Entry

STATES = ("started", "paused", "resumed", "stopped", "archived", "burned", "helper_lost", "sites_changed")


class Announcement(NamedTuple):
    """Something to be said to a receiver: it has one id for ever, so whoever hears it twice can tell."""

    id: str
    body: str
    position: int  # entries of the ledger that the receiver has after it


def find_kind(entry: Entry) -> str:
    """Of which kind of webhooks an entry is; empty: of none."""
    if isinstance(entry, Release):
        return "released"
    if isinstance(entry, ArmChange):
        return "arm"
    return "state" if entry.kind in STATES else ""


def announce_entries(book: Book, webhook: str, kinds: tuple[str, ...], start: int, most: int) -> list[Announcement]:
    """What is said of at most so many entries, from a number on; entries of other kinds are passed over."""
    found = list[Announcement]()
    for entry in book.entries[start:]:
        if find_kind(entry) in kinds and len(found) < most:
            said = name_announcement(webhook, book.study, entry.hash)
            found.append(
                Announcement(
                    said, write_body(entry.kind, entry.at, describe_publication(book, entry)), entry.number + 1
                )
            )
    return found


def describe_publication(book: Book, entry: Entry) -> dict[str, Any]:
    """What an entry says, in public."""
    found: dict[str, Any] = {"study": book.study, "simulated": book.is_simulated, "entry": entry.number}
    if isinstance(entry, Release):
        found |= msgspec.to_builtins(show_release(book, entry))
    elif isinstance(entry, ArmChange):
        found["arm"] = entry.name
    return found | {"hash": entry.hash, "at": entry.at}


def list_conditions(view: StudyView) -> dict[str, dict[str, Any]]:
    """What holds of a study now, by what tells it from others that hold."""
    found = dict[str, dict[str, Any]]()
    if view.finish is not None:
        found[f"finished {view.finish.since}"] = {"why": view.finish.why, "since": view.finish.since}
    for each in view.attention:
        found[f"attention {each.kind} {each.arm or ''}"] = msgspec.to_builtins(each)
    return found


def compare_conditions(
    view: StudyView, webhook: str, kinds: tuple[str, ...], standing: dict[str, Any]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What holds now, and what is to be said of what began or ended since the last look."""
    now = {key: says for key, says in list_conditions(view).items() if key.partition(" ")[0] in kinds}
    about = {"study": view.name, "simulated": view.simulated}
    said = list[dict[str, Any]]()
    for key in sorted({*now, *standing}):
        if (key in now) == (key in standing):
            continue
        kind, begins = key.partition(" ")[0], key in now
        if kind == "finished" and not begins:
            continue  # an arm that is resumed or added is an entry
        what = kind if kind == "finished" else f"{kind}_{'begins' if begins else 'ends'}"
        data = about | (now[key] if begins else standing[key]) | {"at": view.now}
        name = name_announcement(webhook, view.name, key, what, "" if kind == "finished" else str(view.now))
        said.append({"id": name, "body": write_body(what, view.now, data), "after": len(view.ledger)})
    return {key: standing.get(key, says) for key, says in now.items()}, said


def name_announcement(*about: str) -> str:
    """The id of an announcement: the same whenever it is made again, and of no other."""
    return f"msg_{sha256(json.dumps(about).encode()).hexdigest()[:32]}"


def write_body(what: str, at: int, data: dict[str, Any]) -> str:
    """The bytes that are sent and signed."""
    time = datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps({"type": f"study.{what}", "timestamp": time, "data": data}, ensure_ascii=False)
