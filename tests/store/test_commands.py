"""The commands for stored studies and their ledgers, on both databases."""

import json
import re
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.cli import main
from maskedbandit.cli.parts.simulation import Clock, Simulated, play_study
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.experiments.examples import find_packaged_folder
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.studies import find_witness, open_study, write_study
from maskedbandit.study.protocol import Protocol
from tests.store.databases import empty_postgresql

STUDIES = sorted((find_packaged_folder() / "studies").glob("*.toml"))
BERNOULLI = '"bernoulli", means = [0.2, 0.8]'
SMALL = """
name = "small"
people = 400
policy = { name = "successive_elimination", least = 20 }
channel = { name = "central", epsilon = 2 }
arms = [{ name = "a", payload = { colour = "red" } }, { name = "b" }]
reward = { window = "0 seconds", exposure = "0 seconds" }
budget = { epsilon = 2 }
simulation = { instance = { name = "bernoulli", means = [0.2, 0.8] } }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def where(address: str, tmp_path: Path) -> list[str]:
    """What all commands are given."""
    return ["--database", address, "--witness", str(tmp_path / "witness")]


def said(capsys, *command: str) -> str:
    """What a command prints that does what it is asked."""
    capsys.readouterr()
    assert main(command) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def refused(capsys, *command: str) -> str:
    """The line of a command that does not."""
    capsys.readouterr()
    assert main(command) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    return line


@pytest.mark.slow
def test_a_study_is_played_to_its_end_and_verified(file, where, capsys) -> None:
    said(capsys, "study", "new", str(file), *where)
    out = said(capsys, "study", "simulate", "--quiet", *where)
    assert "small: stopped, 352 of 400 people" in out  # who came after the answer was served it
    assert "simulated 400 people, 352 with a place" in out
    assert "\nfrom now on everybody is served b\n" in out, "of a policy for regret that is no answer"
    verified = said(capsys, "ledger", "verify", *where)
    assert "each has spent at most ε = 2" in verified
    shown = said(capsys, "ledger", "show", *where).splitlines()
    assert "started" in shown[1]
    times = re.findall(r"\d{4}-\d\d-\d\d", "\n".join(shown[1:]))
    assert len(times) >= len(shown) - 1
    year = datetime.now(UTC).year
    assert {int(each[:4]) for each in times} <= {year - 1, year}
    assert all("released" in line for line in shown[2:-1])
    assert "stopped" in shown[-1]
    assert "is stopped" in refused(capsys, "study", "simulate", "--quiet", *where)


@pytest.mark.slow
def test_simulated_people_are_those_whom_the_protocol_enrols(file, where, capsys) -> None:
    ramp, group = '{ shares = ["1/20"], every = "1 week" }', '{ name = "g", below = "1/100" }'
    file.write_text(
        f"{SMALL}enrolment = {{ ramp = {ramp}, group = {group}, eligible = {{ age = {{ least = 18 }} }} }}\n"
    )
    said(capsys, "study", "new", str(file), *where)
    assert "simulated 400 people, 352 with a place" in said(capsys, "study", "simulate", "--quiet", *where)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["", 'simulation = { instance = { name = "bernoulli", means = [0.2] } }\n'])
def test_a_rehearsal_that_cannot_be_leaves_a_draft(file, where, capsys, wrong: str) -> None:
    """A study is started for ever, so what is wrong is found before."""
    file.write_text(SMALL[: SMALL.index("simulation =")] + wrong)
    said(capsys, "study", "new", str(file), *where)
    refused(capsys, "study", "simulate", "--quiet", *where)
    assert "small: draft" in said(capsys, "study", "status", *where)
    file.write_text(SMALL)
    said(capsys, "study", "change", str(file), shown_hash(capsys, where), *where)
    said(capsys, "study", "simulate", "--quiet", *where)


def shown_hash(capsys, where) -> str:
    """The hash of the protocol, as it is shown."""
    return said(capsys, "study", "show", *where).splitlines()[0].rpartition(" ")[2]


@pytest.mark.sparing(1)
def test_drafts_are_shown_changed_copied_and_deleted(file, where, capsys) -> None:
    said(capsys, "study", "new", str(file), *where)
    assert "there is a study 'small' already" in refused(capsys, "study", "new", str(file), *where)
    looked_at, text = shown_hash(capsys, where), said(capsys, "study", "show", *where)
    assert Protocol.from_table(tomllib.loads(text)).digest == looked_at
    file.write_text(text.replace("people = 400", "people = 300"))
    assert "look at it again" in refused(capsys, "study", "change", str(file), "0" * 64, *where)
    changed = json.loads(said(capsys, "study", "change", str(file), looked_at, *where))
    assert changed["protocol"] == shown_hash(capsys, where) != looked_at
    assert json.loads(said(capsys, "study", "copy", "other", *where))["study"] == "other"
    one = [*where, "--study", "small"]
    assert "look at it again" in refused(capsys, "study", "delete", looked_at, *one)
    assert json.loads(said(capsys, "study", "delete", changed["protocol"], *one)) == {"deleted": "small"}
    assert "other: draft" in said(capsys, "study", "status", *where)


@pytest.mark.slow
def test_the_status_of_another_ledger_is_refused(file, where, tmp_path, capsys) -> None:
    """One that the witness has not seen, or not so."""
    said(capsys, "study", "new", str(file), *where)
    said(capsys, "study", "simulate", "--quiet", *where)
    elsewhere = [*where[:3], str(tmp_path / "other")]
    for command in (("study", "status"), ("ledger", "show")):
        assert "name the folder that has" in refused(capsys, *command, *elsewhere)
    database = open_database(where[1])
    database.change("UPDATE entry SET hash = 'x' WHERE number = (SELECT MAX(number) FROM entry)")
    database.close()
    for command in (("study", "status"), ("ledger", "show")):
        assert "another copy" in refused(capsys, *command, *where)


@pytest.mark.sparing(1)
def test_a_changed_release_is_found(file, where, address, capsys) -> None:
    said(capsys, "study", "new", str(file), *where)
    said(capsys, "study", "simulate", "--quiet", *where)
    database = open_database(address)
    with database.transaction():
        database.change("UPDATE release SET total = total + 1 WHERE cohort = 0")
    database.close()
    assert "the total of the release of cohort 0 of small was changed" in refused(capsys, "ledger", "verify", *where)


@pytest.mark.slow
def test_verbs_for_scripts(file, where, capsys) -> None:
    said(capsys, "study", "new", str(file), *where)
    assert "look at it again" in refused(capsys, "study", "start", "0" * 64, "--yes", *where)
    assert "is draft" in refused(capsys, "study", "assign", "ann", *where)
    assert json.loads(said(capsys, "study", "start", "--yes", *where))["state"] == "running"
    ann = json.loads(said(capsys, "study", "assign", "ann", *where))
    assert ann["arm"] in ("a", "b")
    assert ann["propensity"] == "1/2"
    assert json.loads(said(capsys, "study", "assign", "ann", *where)) == {**ann, "again": True}
    said(capsys, "study", "expose", ann["ticket"], *where)
    report = ["study", "report", ann["ticket"], "1", *where]
    window = "the window in which this outcome counts is over"  # of 0 seconds
    assert window in refused(capsys, *report)
    assert json.loads(said(capsys, "study", "pause", *where))["state"] == "paused"
    assert json.loads(said(capsys, "study", "resume", *where))["state"] == "running"
    assert json.loads(said(capsys, "study", "erase", "ann", *where)) == {"places": 1}
    assert said(capsys, "study", "tick", *where) == ""
    assert "small: running, 1 of 400 people" in said(capsys, "study", "status", *where)
    change = ["study", "change", str(file), shown_hash(capsys, where), *where]
    assert "is running: its protocol cannot be changed" in refused(capsys, *change)
    assert "VALUE must be a number" in refused(capsys, "study", "report", "x", "much", *where)
    assert "words after `study assign` is 0" in refused(capsys, "study", "assign", *where)
    assert "ATTRIBUTES is 'not shown': it must be JSON" in refused(capsys, "study", "assign", "bob", "{age}", *where)
    assert "attributes must be a mapping" in refused(capsys, "study", "assign", "bob", "[18]", *where)
    assert json.loads(said(capsys, "study", "assign", "bob", '{"age": 18}', *where))["ticket"]
    assert json.loads(said(capsys, "study", "stop", "--yes", *where))["state"] == "stopped"
    assert json.loads(said(capsys, "study", "archive", "--yes", *where))["state"] == "archived"
    said(capsys, "ledger", "verify", *where)


@pytest.mark.parametrize(("missing", "extra"), [("apsw", "service"), ("psycopg", "postgres")])
def test_without_the_extra_a_command_says_what_to_install(missing, extra, file, monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    address = "sqlite:///study.db" if missing == "apsw" else "postgresql://nowhere/study"
    line = refused(capsys, "study", "new", str(file), "--database", address)
    assert f"{missing} is not installed, and this needs it: pip install 'maskedbandit[{extra}]'" in line


def test_a_new_study_makes_the_folder_of_its_data(file, tmp_path, capsys) -> None:
    folder = tmp_path / "new" / "data"
    refused(capsys, "study", "new", str(tmp_path / "none.toml"), "--data", str(folder))
    assert not folder.exists()
    said(capsys, "study", "new", str(file), "--data", str(folder))
    assert {"studies.db", "witness"} <= {path.name for path in folder.iterdir()}


@pytest.mark.sparing(1)
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_database_without_studies_is_not_made_by_looking_at_it(kind, tmp_path, capsys) -> None:
    address = f"sqlite:///{tmp_path}/study.db" if kind == "sqlite" else empty_postgresql()
    for command in (["study", "status"], ["study", "simulate"], ["ledger", "verify"]):
        assert "`maskedbandit study new` makes" in refused(capsys, *command, "--database", address)
    file = Path(address.removeprefix("sqlite:///"))
    assert not file.exists()


@pytest.mark.sparing(1)
def test_a_mistyped_witness_is_named_and_not_made(file, where, tmp_path, capsys) -> None:
    made = json.loads(said(capsys, "study", "new", str(file), *where))
    assert Path(made["witness"]).parent == tmp_path / "witness"
    assert (Path(made["witness"]) / "keys").exists()
    elsewhere = [*where[:2], "--witness", str(tmp_path / "witnes")]
    (other := tmp_path / "other.toml").write_text(SMALL.replace('"small"', '"other"'))
    for command in (
        *(["study", *words] for words in (["start", "--yes"], ["status"], ["simulate"], ["reconcile"])),
        *(["study", "new", str(other)], ["ledger", "verify"], ["serve", "--port", "0"], ["helper", "show"]),
    ):
        line = refused(capsys, *command, *elsewhere)
        assert str(tmp_path / "witnes") in line, (command, line)
    assert not (tmp_path / "witnes").exists()
    assert '"running"' in said(capsys, "study", "start", "--yes", *where)


def test_keys_with_which_operators_are_paired_are_not_made_anew(where, tmp_path, capsys) -> None:
    """An invitation is signed by nobody yet, but the operator's fingerprint was handed over with it."""
    said(capsys, "helper", "invite", *where)
    elsewhere = [*where[:2], "--witness", str(tmp_path / "witnes")]
    assert "are not in" in refused(capsys, "helper", "show", *elsewhere)
    assert "are not in" in refused(capsys, "helper", "invite", *elsewhere)
    assert not (tmp_path / "witnes").exists()


def test_an_address_that_is_none_is_named_without_its_password(capsys) -> None:
    line = refused(capsys, "study", "status", "--database", "mysql://ann:secret@host/study")
    assert "database is 'mysql://...@host/study': it must be an address such as sqlite:///study.db" in line
    assert "secret" not in line


@pytest.mark.slow
@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_the_studies_that_come_with_the_package_end(path, tmp_path, capsys) -> None:
    where = ["--database", f"sqlite:///{tmp_path}/study.db", "--witness", str(tmp_path / "witness")]
    said(capsys, "study", "new", str(path), *where)
    assert "stopped" in said(capsys, "study", "simulate", "--quiet", *where)
    said(capsys, "ledger", "verify", *where)


@pytest.mark.slow
def test_a_stored_study_has_the_numbers_of_the_lab(tmp_path) -> None:
    """Mean regret of 17 stored studies against 2,000 runs of the lab, within 5 joint standard errors.

    It is wrong with a probability below 1e-6, and tells another study with 0.99.
    """
    table = Protocol.from_file(find_packaged_folder() / "studies" / "newsletter.toml").table | {"people": 3000}
    found = []
    for seed in range(17):
        address = f"sqlite:///{tmp_path}/{seed}.db"
        protocol = Protocol.from_table({**table, "simulation": {**table["simulation"], "seed": seed}})
        write_study(protocol, address, tmp_path)
        clock = Clock()
        with open_study(address, folder=tmp_path, clock=clock) as study:
            study.start()
            found.append(play_study(study, clock, lambda _: None).regret)
    policy, delay = mb.policies.ContemporaneousKLUCB(), mb.delays.Constant(360)
    run = mb.simulate(policy, protocol.channel, mb.Bernoulli([0.5, 0.6, 0.45]), 3000, runs=2000, seed=1, delay=delay)
    lab, stored = run.regret[:, -1], np.array(found)
    error = np.hypot(lab.std() / np.sqrt(lab.size), stored.std() / np.sqrt(stored.size))
    assert abs(lab.mean() - stored.mean()) < 5 * error
    private = mb.channels.Central(epsilon=0.1)
    other = mb.simulate(policy, private, mb.Bernoulli([0.5, 0.6, 0.45]), 3000, runs=2000, seed=1, delay=delay)
    assert abs(other.regret[:, -1].mean() - stored.mean()) > 5 * error  # another study is told from it


def test_an_interrupted_simulation_goes_on(file, tmp_path) -> None:
    address = f"sqlite:///{tmp_path}/study.db"
    write_study(Protocol.from_file(file), address, tmp_path)
    clock = Clock()

    class Interrupted(Exception):
        pass

    def interrupt(people: int) -> None:
        raise Interrupted

    with open_study(address, folder=tmp_path, clock=clock) as study:
        study.start()
        with pytest.raises(Interrupted):
            play_study(study, clock, interrupt)
        assert study.people == 200
    clock = Clock()
    with open_study(address, folder=tmp_path, clock=clock) as study:
        assert play_study(study, clock, lambda _: None).people == 200
        assert study.people == 352
    database = open_database(address)
    assert verify_study(database, find_witness(database, tmp_path), "small").entries > 2


def test_regret_is_that_of_each_person_where_means_change(file, tmp_path) -> None:
    """By the first list alone arm a would be worse, by .1, for all of them; for half of them b is, by .8."""
    world = '"changing", means = [[0.5, 0.6], [0.9, 0.1]], every = 50'
    file.write_text(SMALL.replace('"successive_elimination", least = 20', '"uniform"').replace(BERNOULLI, world))
    address, clock = f"sqlite:///{tmp_path}/study.db", Clock()
    write_study(Protocol.from_file(file), address, tmp_path)
    with open_study(address, folder=tmp_path, clock=clock) as study:
        study.start()
        found = play_study(study, clock, lambda _: None)
        arms = [arm for (arm,) in study.database.rows("SELECT arm FROM place ORDER BY assigned")]
    assert len(arms) == 400
    lost = sum([[0.1, 0.0], [0.0, 0.8]][i // 50 % 2][arm] for i, arm in enumerate(arms))
    assert found.regret == pytest.approx(lost)
    assert found.regret > 2 * 0.1 * arms.count(0)


def test_a_study_with_real_people_is_not_simulated(file, where, capsys) -> None:
    """A wrong verb would fill it with people who do not exist, and stop it."""
    said(capsys, "study", "new", str(file), *where)
    said(capsys, "study", "start", "--yes", *where)
    said(capsys, "study", "assign", "ann", *where)
    assert "was started with real people" in refused(capsys, "study", "simulate", "--quiet", *where)
    assert "small: running, 1 of 400 people" in said(capsys, "study", "status", *where)


def test_errors_show_nothing_of_a_person(file, where, capsys) -> None:
    said(capsys, "study", "new", str(file), *where)
    for command in (("assign", "ann", "canary"), ("report", "canary", "0.71828", "again"), ("report", "x", "canary")):
        line = refused(capsys, "study", *command, *where)
        assert "canary" not in line
        assert "0.71828" not in line


@pytest.mark.sparing(1)
def test_the_budget_of_a_draft_can_be_changed(file, where, capsys) -> None:
    said(capsys, "study", "new", str(file), *where)
    file.write_text(SMALL.replace("budget = { epsilon = 2 }", "budget = { epsilon = 3 }"))
    said(capsys, "study", "change", str(file), shown_hash(capsys, where), *where)
    said(capsys, "study", "start", "--yes", *where)
    assert "at a budget of ε = 3" in said(capsys, "study", "status", *where)
    file.write_text(SMALL.replace('name = "small"', 'name = "other"\nproject = "small"', 1))
    assert "budget is 'ε = 2" in refused(capsys, "study", "new", str(file), *where)


def test_a_study_that_is_paused_is_not_simulated(file, where, capsys) -> None:
    """All its people would be counted, and none would have a place."""
    said(capsys, "study", "new", str(file), *where)
    said(capsys, "study", "start", "--yes", *where)
    said(capsys, "study", "pause", *where)
    assert "small is paused" in refused(capsys, "study", "simulate", *where)
    assert "small: paused, 0 of 400 people" in said(capsys, "study", "status", *where)


@pytest.mark.sparing(1)
def test_arms_are_paused_resumed_and_added(file, where, capsys) -> None:
    said(capsys, "study", "new", str(file), *where)
    said(capsys, "study", "start", "--yes", *where)
    found = json.loads(said(capsys, "study", "arm", "add", "c", '{"colour": "blue"}', *where))
    assert found == {"study": "small", "arms": ["a", "b", "c"], "in_play": ["a", "b", "c"]}
    assert json.loads(said(capsys, "study", "arm", "pause", "b", *where))["in_play"] == ["a", "c"]
    assert "b" in said(capsys, "study", "status", *where).splitlines()[3]
    assert "paused" in said(capsys, "study", "status", *where).splitlines()[3]
    assert "arm_paused" in said(capsys, "ledger", "show", *where)
    assert json.loads(said(capsys, "study", "arm", "resume", "b", *where))["in_play"] == ["a", "b", "c"]
    for words, why in (
        (("remove", "b"), "CHANGE is 'remove'"),
        (("pause", "b", "7"), "CHANGE is 'pause'"),
        (("add", "d", "{"), "PAYLOAD is '{'"),
        (("resume", "b"), "in play already"),
        (("pause", "x"), "there is no arm 'x'"),
    ):
        assert why in refused(capsys, "study", "arm", *words, *where)


GUARDED = """
people = 3000
guardrail = { name = "harm", harm = { above = 0.2 } }
[simulation]
instance = { name = "bernoulli", means = [0.2, 0.8, 0.5] }
guardrail = { name = "bernoulli", means = [0.05, 0.7, 0.05] }
changes = [{ at = 500, add = "c" }]
"""


@pytest.mark.slow
def test_a_guardrail_and_changes_are_simulated(file, where, capsys) -> None:
    simulation = SMALL.index("simulation =")
    file.write_text(SMALL[:simulation].replace("people = 400\n", "") + GUARDED)
    said(capsys, "study", "new", str(file), *where)
    lines = said(capsys, "study", "simulate", "--quiet", *where).splitlines()
    assert lines[1].endswith(" harm")
    assert [line.split()[0] for line in lines[2:5]] == ["a", "b", "c"]
    assert [line.endswith("harmful") for line in lines[2:5]] == [False, True, False]
    said(capsys, "ledger", "verify", *where)
    for line in ('changes = [{ at = 1, add = "c", pause = "b" }]', "changes = 7", "changes = []", "guardrail = 3"):
        what = line.partition(" ")[0]
        old = next(each for each in GUARDED.splitlines() if each.startswith(what) and each != GUARDED.splitlines()[2])
        file.write_text((SMALL[:simulation].replace("people = 400\n", "") + GUARDED).replace(old, line))
        with pytest.raises(InvalidValue):
            Simulated.of(Protocol.from_file(file))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["local", "response"])
def test_devices_with_a_guardrail_are_simulated(file, where, capsys, kind: str) -> None:
    local = SMALL[: SMALL.index("simulation =")].replace("people = 400\n", "").replace("central", kind)
    local = local.replace("epsilon = 2", "epsilon = 8").replace("reward = {", 'reward = { rule = "first",')
    file.write_text(local + GUARDED.replace("0.2 } }", '0.2 }, rule = "first" }'))
    said(capsys, "study", "new", str(file), *where)
    lines = said(capsys, "study", "simulate", "--quiet", *where).splitlines()
    assert [line.endswith("harmful") for line in lines[2:5]] == [False, True, False]
    said(capsys, "ledger", "verify", *where)


@pytest.mark.sparing(1)
def test_each_offer_is_a_line(file, where, capsys) -> None:
    local = SMALL.replace("central", "response").replace("reward = {", 'reward = { rule = "first",')
    file.write_text(local + '[guardrail]\nname = "harm"\nharm = { above = 0.2 }\nrule = "first"\n')
    said(capsys, "study", "new", str(file), *where)
    said(capsys, "study", "start", "--yes", *where)
    first, second = json.loads(said(capsys, "study", "assign", "ann", *where))["offer"].split("\n")
    assert first + " metric=harm" == second


@pytest.mark.sparing(1)
def test_the_guardrail_is_reported(file, where, capsys) -> None:
    file.write_text(
        SMALL.replace('window = "0 seconds"', 'window = "1 hour"')
        + '[guardrail]\nname = "harm"\nharm = { above = 0.2 }\n'
    )
    said(capsys, "study", "new", str(file), *where)
    said(capsys, "study", "start", "--yes", *where)
    ticket = json.loads(said(capsys, "study", "assign", "ann", *where))["ticket"]
    report = ("study", "report", ticket, "1", "--metric")
    assert json.loads(said(capsys, *report, "harm", *where)) == {"status": "accepted"}
    assert json.loads(said(capsys, *report, "harm", *where)) == {"status": "accepted"}  # whatever came before
    assert "metric must be harm" in refused(capsys, *report, "other", *where)
