"""Run a study that is kept in a database: make it, start it, assign people, report, release, simulate and more."""

import argparse
import json
from pathlib import Path
from typing import Any

from maskedbandit.channels.offers import to_lines
from maskedbandit.cli.parts.confirm import confirm_move
from maskedbandit.cli.parts.drafts import do_change, do_copy, do_delete, do_new, do_show  # noqa: F401 - found by name
from maskedbandit.cli.parts.verbs import add_verbs, check_words, say
from maskedbandit.errors import InvalidValue, PersonalValue

EXAMPLE = (
    "maskedbandit study new newsletter --database sqlite:///studies.db\n"
    "  maskedbandit study simulate --database sqlite:///studies.db\n"
    "  maskedbandit study start --yes && maskedbandit study assign ann\n"
    "  maskedbandit study expose TICKET && maskedbandit study report TICKET 1"
)
INTERRUPTED = "; all that was acknowledged is kept: the same command goes on from there"
DATABASE = "sqlite:///studies.db"
VERBS = {
    "new": ("FILE", "make a draft of a study from its protocol: a TOML file, or a name that `list` shows"),
    "show": ("", "show the protocol of a study as TOML, and its hash"),
    "change": ("FILE HASH", "replace the protocol of a draft, which has this HASH, by that in FILE"),
    "copy": ("NAME", "make a draft of this name with the protocol of the study"),
    "delete": ("HASH", "delete a draft whose protocol has this HASH; nothing of it is kept"),
    "start": ("[HASH]", "freeze the protocol and begin; with a HASH only if the protocol has this hash"),
    "assign": (
        "UNIT [ATTRIBUTES]",
        "give the person called UNIT an arm; ATTRIBUTES are JSON, for rules on who is eligible",
    ),
    "expose": ("TICKET", "write down that the person saw the arm"),
    "report": ("TICKET VALUE", "write down the person's outcome; --event names one of several"),
    "tick": ("", "do what is due: take back places that nobody saw, close cohorts, and release their sums"),
    "pause": ("", "give no more places, until `resume`"),
    "resume": ("", "go on after a pause"),
    "stop": ("", "give no more places, for ever"),
    "arm": ("CHANGE NAME [PAYLOAD]", "change an arm: CHANGE is pause, resume or add; the PAYLOAD of a new arm is JSON"),
    "archive": ("", "erase the data of all people; releases stay"),
    "erase": ("UNIT", "erase the data of one person; releases stay"),
    "status": ("", "show how the study stands, from its releases"),
    "simulate": ("", "play the study with simulated people, as its [simulation] table says"),
    "reconcile": ("[FILE]", "after a restore: bring back what FILE, a `ledger export`, has, or charge everybody"),
}


def add(parser: argparse.ArgumentParser) -> None:
    """Add the verbs, and the options that say which study is meant."""
    add_verbs(parser, VERBS)
    options(parser)
    parser.add_argument(
        "--event", default="", metavar="NAME", help="with `report`: the name of this report, if the person has several"
    )
    parser.add_argument(
        "--metric",
        default="",
        metavar="NAME",
        help="with `report`: the guardrail or the metric that is reported, in place of the reward",
    )
    parser.add_argument(
        "--without-helper",
        action="store_true",
        help="with `stop`: give up the cohorts that wait for the helper of two operators, which is away for ever",
    )
    parser.add_argument("--yes", action="store_true", help="with `start`, `stop` and `archive`: do not ask")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where studies are, and which is meant; `ledger` has them too."""
    place(parser)
    parser.add_argument("--study", metavar="NAME", help="the study, if the database has several")


def place(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where studies are; `serve` and `key` have them too."""
    parser.add_argument(
        "--database",
        default=DATABASE,
        metavar="URL",
        help=f"the database: sqlite:///FILE or postgresql://... ({DATABASE})",
    )
    parser.add_argument(
        "--witness",
        type=Path,
        metavar="DIR",
        help="the folder of the witness, with keys and heads of ledgers (below ~/.config/maskedbandit)",
    )
    parser.add_argument(
        "--data",
        action=Data,
        metavar="DIR",
        help="a folder for the database and the witness: DIR/studies.db and DIR/witness",
    )


class Data(argparse.Action):
    """A folder for the database and its witness."""

    def __call__(self, parser: Any, options: Any, values: Any, flag: str | None = None) -> None:
        folder = Path(values).absolute()
        options.data, options.database, options.witness = folder, f"sqlite:///{folder}/studies.db", folder / "witness"


def do(options: argparse.Namespace) -> None:
    """Do what the verb says, and print what came of it as a line of JSON."""
    check_words("study", VERBS, options)
    globals()[f"do_{options.verb}"](options, *options.given)


def opened(options: argparse.Namespace, **more: Any) -> Any:
    """Open the study that is meant, which this process then holds."""
    from maskedbandit.store.studies import open_study

    return open_study(options.database, options.study, options.witness, **more)


def moved(options: argparse.Namespace) -> None:
    """Move the study to another state."""
    with opened(options) as study:
        getattr(study, options.verb)()
        say(study=study.name, state=study.state)


def do_start(options: argparse.Namespace, looked_at: str | None = None) -> None:
    """Start the study; if the command asked first, with the protocol that it has shown and no other."""
    shown = confirm_move(options, "start")
    with opened(options) as study:
        study.start(looked_at=looked_at or shown)
        say(study=study.name, state=study.state, protocol=study.protocol.digest)


do_pause = do_resume = moved


def do_stop(options: argparse.Namespace) -> None:
    """Stop the study: no more places are given."""
    confirm_move(options, "give_up_helper" if options.without_helper else "stop")
    with opened(options) as study:
        if options.without_helper:
            study.give_up_helper()
        else:
            study.stop()
        say(study=study.name, state=study.state)


def do_archive(options: argparse.Namespace) -> None:
    """Archive the study: everybody's data is erased."""
    confirm_move(options, "archive")
    moved(options)


def do_arm(options: argparse.Namespace, what: str, name: str, payload: str = "null") -> None:
    """Pause, resume or add an arm."""
    try:
        given = json.loads(payload)
    except ValueError:
        raise InvalidValue("PAYLOAD", payload, "JSON") from None
    if what not in ("pause", "resume", "add") or (what != "add" and given is not None):
        raise InvalidValue("CHANGE", what, "pause or resume, with a name, or add, with a name and perhaps a payload")
    with opened(options) as study:
        study.change_arms(what, name, given)
        names = [arm for arm, _ in study.protocol.arms]
        say(study=study.name, arms=names, in_play=[names[arm] for arm in study.in_play])


def do_assign(options: argparse.Namespace, unit: str, attributes: str = "null") -> None:
    """Give a person an arm."""
    try:
        said = json.loads(attributes)
    except ValueError:
        raise InvalidValue("ATTRIBUTES", "not shown", 'JSON, such as {"age": 18}') from None
    with opened(options) as study:
        found = study.assign(unit, said)
        name, payload = study.protocol.arms[found.arm]
        say(
            arm=name,
            payload=payload,
            ticket=found.ticket,
            propensity=str(found.propensity),
            again=found.again,
            why=found.why,
            offer=to_lines(found.offers) if found.offers else None,
        )


def do_expose(options: argparse.Namespace, ticket: str) -> None:
    """Write down that an arm was seen."""
    with opened(options) as study:
        study.expose(ticket)
        say(exposed=True)


def do_report(options: argparse.Namespace, ticket: str, value: str) -> None:
    """Write an outcome down."""
    try:
        number = float(value)
    except ValueError:
        raise PersonalValue("VALUE", "a number") from None
    with opened(options) as study:
        study.report(ticket, number, options.event, options.metric)
        say(status="accepted")


def do_tick(options: argparse.Namespace) -> None:
    """Do what is due."""
    with opened(options) as study:
        for each in study.tick():
            say(cohort=each.cohort, arm=study.protocol.arms[each.arm][0], n=each.n, total=each.total)
        if study.named is not None:
            say(answer=[study.protocol.arms[arm][0] for arm in study.named])


def do_erase(options: argparse.Namespace, unit: str) -> None:
    """Erase a person's data."""
    with opened(options) as study:
        say(places=study.erase(unit))


def do_status(options: argparse.Namespace) -> None:
    """Print how the study stands."""
    from maskedbandit.service.views.status import write_status
    from maskedbandit.store.book.entries import state_after
    from maskedbandit.store.databases.connection import open_database
    from maskedbandit.store.helping.book import find_operators, is_helper, read_help_book
    from maskedbandit.store.lease import read_clock
    from maskedbandit.store.studies import choose_study, find_witness

    database = open_database(options.database, create=False)
    try:
        witness = find_witness(database, options.witness)
        name = choose_study(database, options.study)
        if is_helper(database, witness, name):
            book = read_help_book(database, witness, name)
            leader, state = find_operators(name, book.protocol).leader.name, state_after(book.entries)
            made = "were mixed" if book.protocol.shuffled else "have a total"
            print(f"{name}: helped for {leader}, {state}, {len(book.made)} cohorts {made}")
        else:
            print(write_status(database, witness, name, read_clock()))
    finally:
        database.close()


def do_simulate(options: argparse.Namespace) -> None:
    """Play the study to its end with simulated people."""
    from maskedbandit.cli.parts.progress import Progress
    from maskedbandit.cli.parts.simulation import Clock, choose_start, people_to_come, play_study
    from maskedbandit.errors import NotRunning
    from maskedbandit.service.views.describe import read_simulated
    from maskedbandit.service.views.status import write_status
    from maskedbandit.store.lease import read_clock
    from maskedbandit.store.studies import find_witness

    clock = Clock()
    with opened(options, clock=clock) as study:
        if study.state == "draft":
            clock.now = choose_start(study.protocol, read_clock())
            study.start(simulated=True)
        if study.state != "running":
            raise NotRunning(f"{study.name} is {study.state}: only a draft, or one that is running, can be simulated")
        if not read_simulated(study.database, study.name):
            raise NotRunning(f"{study.name} was started with real people: only a draft can be simulated")
        with Progress((people_to_come(study.protocol) or 0) - study.people, "person", quiet=options.quiet) as progress:
            progress.begin(f"{study.name}, simulated")
            played = play_study(study, clock, progress.advance)
        study.stop()
        witness = find_witness(study.database, options.witness)
        print(write_status(study.database, witness, study.name, clock()))
        print(
            f"simulated {played.people} people, {study.people} with a place: regret {played.regret:.1f}, "
            f"{played.over} over their budgets"
        )


def do_reconcile(options: argparse.Namespace, file: str | None = None) -> None:
    """Reconcile a restored database with its witness."""
    from maskedbandit.store.databases.connection import open_database
    from maskedbandit.store.helping.book import is_helper
    from maskedbandit.store.helping.reconcile import bring_back_help, end_help
    from maskedbandit.store.reconcile import bring_back, burn_missing
    from maskedbandit.store.studies import choose_study, find_witness

    database = open_database(options.database, create=False)
    try:
        name, witness = choose_study(database, options.study), find_witness(database, options.witness)
        helps = is_helper(database, witness, name)
        if file is None:
            print((end_help if helps else burn_missing)(database, witness, name))
        else:
            print((bring_back_help if helps else bring_back)(database, witness, name, Path(file)))
    finally:
        database.close()
