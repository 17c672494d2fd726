"""A process that holds a study and is copied, by a fork or as with a machine's snapshot; both copies go on.

`python -m tests.store.copied_process ADDRESS FOLDER KIND` prints what both found, as lines of JSON, the child first:

    fork                    the child asks the study for everything, and opens it itself
    fork in a transaction   the child asks the study for everything while a thread of its parent writes
    snapshot                nobody notices, as there is a copy of the database and of the witness as well
    snapshot with old bits  and the noise is from bits that were fetched before it
    fork with old bits      the same, but the bits can notice
"""

import json
import os
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import maskedbandit.store.databases.database as database_module
import maskedbandit.store.release as release_module
from maskedbandit.errors import MaskedBanditError
from maskedbandit.privacy import sampling
from maskedbandit.privacy.process import identify_process
from maskedbandit.store.databases.sqlite import Sqlite
from maskedbandit.store.studies import find_witness, open_study, write_study
from maskedbandit.store.study import Study
from maskedbandit.store.writer import Writer
from maskedbandit.study.protocol import Protocol

TABLE = {
    "name": "copied",
    "people": 1000,
    "policy": {"name": "successive_elimination", "least": 2},
    "channel": {"name": "central", "epsilon": 0.001, "grid": 10**6},  # two draws of noise are as good as never the same
    "arms": [{"name": name} for name in "ab"],
    "reward": {"window": "0 seconds", "exposure": "0 seconds"},
    "budget": {"epsilon": 1},
}


def answer(ask: Callable[[], Any]) -> str:
    """The error that comes, or that none does."""
    try:
        ask()
    except MaskedBanditError as why:
        return f"{type(why).__name__}: {why}"
    return "done"


def refusals(study: Study, ticket: str) -> list[str]:
    """What a child is told that asks the study for everything."""
    asks = (
        lambda: study.assign("eve"),
        lambda: study.assign("ann"),
        lambda: study.report(ticket, 1),
        lambda: study.erase("ann"),
        study.tick,
        study.pause,
        study.releases,
        lambda: study.offers(ticket),
    )
    found = [answer(ask) for ask in asks]
    study.close()
    return found


def totals(study: Study) -> list[float]:
    """What is released now."""
    return [release.total for release in study.tick()]


def prepare_copy(study: Study, folder: Path, kind: str) -> None:
    """A copy of all files; a study that does not notice the fork; and perhaps bits that do not, or are old."""
    shutil.copytree(folder, folder.with_name("copy"))
    first = identify_process()
    database_module.identify_process = lambda: first
    if kind.startswith("snapshot"):
        sampling.identify_process = lambda: first
    if kind.endswith("old bits"):
        release_module.Bits = lambda: study._session.bits


def go_on(study: Study, folder: Path) -> list[float]:
    """What the child releases, on its copy of the files."""
    copy, of_parent = folder.with_name("copy"), study.database._connection
    study.database._connection = Sqlite(str(copy / "study.db"))._connection
    study._session.witness = find_witness(study.database, copy / "witness")
    found = totals(study)
    assert of_parent  # which the child may not close
    return found


def main(address: str, folder: Path, kind: str) -> None:
    """Prepare a study that has two cohorts to release, and copy its process."""
    now, refused = [0], kind in ("fork", "fork in a transaction")
    folder.mkdir()
    open_it = partial(open_study, address, None, folder / "witness", lambda: now[0])
    write_study(Protocol.from_table(TABLE), address, folder / "witness")
    study = open_it()
    study.start()
    tickets = [study.assign(unit).ticket for unit in ("ann", "bob", "cy", "dan")]
    now[0] = 10_000
    study._session.bits.below(6)  # which fetches a page of them
    if not refused:
        prepare_copy(study, folder, kind)
    writes, may_end = Event(), Event()
    with Writer(study) as writer:
        if kind == "fork in a transaction":
            writer.submit(lambda session: (writes.set(), may_end.wait(60)))
            assert writes.wait(60)
        if (child := os.fork()) == 0:
            found = refusals(study, str(tickets[0])) if refused else go_on(study, folder)
            opening = [answer(open_it)] if kind == "fork" else []
            print(json.dumps([*found, *opening]), flush=True)
            os._exit(0)
        ended = os.waitpid(child, 0)[1]
        may_end.set()
    assert ended == 0
    print(json.dumps(totals(study)), flush=True)
    study.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
