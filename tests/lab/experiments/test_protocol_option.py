"""Protocols in experiments: named in the file or put over it, and never mixed with results of ideal sums."""

from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

import maskedbandit as mb
from maskedbandit.backends.secagg import SecAgg
from maskedbandit.cli import main
from maskedbandit.errors import InvalidValue, UnknownName
from maskedbandit.lab.experiments.experiment import read_experiment
from maskedbandit.lab.experiments.parts import fingerprint
from maskedbandit.lab.experiments.protocol_option import put_over_protocol, read_backend, takes_protocol
from maskedbandit.lab.experiments.table import collect_results
from tests.for_each import for_each
from tests.lab.scripted import in_python

TEXT = """
about = "two curves"
horizon = 200
runs = 2
instance = { name = "bernoulli", means = [0.2, 0.8] }
policy = { name = "successive_elimination", least = 8 }
[[curves]]
channel = "raw"
[[curves]]
channel = { name = "distributed", epsilon = 1, honest = 0.75 }
[[curves]]
theory = "no_privacy"
"""
SMALL = "secagg,smallest=1"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(TEXT)
    return path


def test_a_protocol_is_a_name_with_parameters() -> None:
    assert read_backend("secagg") == SecAgg()
    found = read_backend("secagg, corrupted=0.1, dropout = 1/20, server=malicious,attempts=2")
    assert found == SecAgg(corrupted=Fraction(1, 10), dropout="1/20", server="malicious", attempts=2)


@for_each(
    ("text", "said"),
    [
        ("secag", "backend is 'secag': did you mean 'secagg'?"),
        ("", "backend is ''"),
        ("secagg,dropped=0.1", "parameter of secagg is 'dropped': did you mean 'dropout'?"),
        ("secagg,dropout", "it must be a name, or a name with parameters"),
        ("secagg,name=ideal", "it must be a name, or a name with parameters"),
        ("secagg,dropout=2", "dropout is 2: it must be a fraction of the users"),
        ("secagg,server=liar", "server is 'liar'"),
        ("ideal", "protocol is 'ideal': it must be a real protocol"),
    ],
)
def test_bad_protocols_say_why(text, said) -> None:
    with pytest.raises(InvalidValue) as wrong:
        read_backend(text)
    assert said in str(wrong.value)


def test_a_channel_takes_the_backends_of_its_kind() -> None:
    assert takes_protocol(mb.channels.Distributed, SecAgg())
    assert takes_protocol(mb.channels.Distributed, mb.backends.Ideal())
    assert not takes_protocol(mb.channels.Raw, mb.backends.Ideal())
    assert not takes_protocol(mb.channels.Shuffled, SecAgg())


def test_a_file_names_a_backend_as_it_names_a_noise(file) -> None:
    named = 'honest = 0.75, backend = { name = "secagg", corrupted = 0.1 }, noise = "skellam"'
    file.write_text(TEXT.replace("honest = 0.75", named))
    expected = mb.channels.Distributed(1, mb.noises.Skellam(), honest="0.75", backend=SecAgg(corrupted=0.1))
    assert read_experiment(file).settings[1].channel == expected
    file.write_text(TEXT.replace("honest = 0.75", 'backend = "secagg"'))
    assert read_experiment(file).settings[1].channel.backend == SecAgg()
    for wrong, error in (
        ('"secag"', UnknownName),
        ('{ name = "secagg", dropout = 1 }', InvalidValue),
        ("1", InvalidValue),
    ):
        file.write_text(TEXT.replace("honest = 0.75", f"backend = {wrong}"))
        with pytest.raises(error):
            read_experiment(file)
    file.write_text(TEXT.replace('"raw"', '{ name = "shuffled", backend = "secagg" }'))
    with pytest.raises(InvalidValue, match="backend is SecAgg"):
        read_experiment(file)


def test_backends_can_vary(file) -> None:
    file.write_text(TEXT + '[vary]\n"channel.backend" = ["ideal", { name = "secagg", smallest = 1 }]\n')
    found = read_experiment(file).settings
    assert [type(each.channel.backend).__name__ for each in found[1:3]] == ["Ideal", "SecAgg"]


def test_settings_that_take_a_protocol_run_over_it_and_others_stay(file) -> None:
    experiment = read_experiment(file)
    changed, left = put_over_protocol(experiment, SMALL)
    assert left == ["raw"]
    assert [a == b for a, b in zip(experiment.settings, changed.settings, strict=True)] == [True, False, True]
    assert changed.settings[1].channel.backend == SecAgg(smallest=1)
    assert [s.id for s in changed.settings] == [s.id for s in experiment.settings]
    prints = [[fingerprint(s) for s in each.settings] for each in (experiment, changed)]
    assert [a == b for a, b in zip(*prints, strict=True)] == [True, False, True]


def test_labels_of_what_stays_are_told_once(file) -> None:
    """A curve that takes no protocol stays in all of its settings."""
    file.write_text(TEXT + '[vary]\n"policy.least" = [8, 16]\n')
    experiment = read_experiment(file)
    assert [each.label for each in experiment.settings].count("raw") == 2
    changed, left = put_over_protocol(experiment, SMALL)
    assert left == ["raw"]
    assert [type(each.channel).__name__ for each in changed.settings[:4]] == [
        "Raw",
        "Raw",
        "Distributed",
        "Distributed",
    ]
    assert [each.channel.backend for each in changed.settings[2:4]] == [SecAgg(smallest=1)] * 2


def test_a_protocol_that_the_file_names_stays(file) -> None:
    """What is put over an experiment replaces ideal sums alone."""
    named = (
        TEXT
        + """[[curves]]
label = "signed"
channel = { name = "distributed", honest = 0.75, backend = { name = "secagg", server = "malicious", smallest = 1 } }
"""
    )
    file.write_text(named)
    experiment = read_experiment(file)
    changed, left = put_over_protocol(experiment, SMALL)
    assert left == ["raw"]
    assert changed.settings[1].channel.backend == SecAgg(smallest=1)
    assert changed.settings[3] == experiment.settings[3]
    assert changed.settings[3].channel.backend == SecAgg(server="malicious", smallest=1)
    file.write_text(named.replace('{ name = "distributed", epsilon = 1, honest = 0.75 }', '"central"'))
    changed, left = put_over_protocol(read_experiment(file), SMALL)
    assert left == ["raw", "central"]
    assert changed.settings == read_experiment(file).settings


@pytest.mark.slow
def test_real_and_ideal_results_do_not_mix(file, tmp_path, monkeypatch) -> None:
    in_python(monkeypatch)
    experiment, out = read_experiment(file), tmp_path / "out"
    collect_results(experiment, experiment.settings, out)
    changed, _ = put_over_protocol(experiment, SMALL)
    found = collect_results(changed, changed.settings, out, resume=True)
    sees = found.filter(pl.col("trust") == "distributed")["sees"].unique().to_list()
    assert sees == ["server: noisy sums alone, over SecAgg"]
    assert found.group_by("id").len().height == 3
    assert pl.read_parquet_metadata(out / "table.parquet")["protocol"] == SMALL
    back = collect_results(experiment, experiment.settings, out, resume=True)
    assert back.filter(pl.col("trust") == "distributed")["sees"].unique().to_list() == ["server: noisy sums alone"]
    assert "protocol" not in pl.read_parquet_metadata(out / "table.parquet")


@pytest.mark.slow
def test_the_command_runs_a_study_over_a_protocol(file, tmp_path, monkeypatch, capsys) -> None:
    in_python(monkeypatch)
    monkeypatch.chdir(tmp_path)
    assert main(["run", "tiny.toml", "--protocol", SMALL]) == 0
    streams = capsys.readouterr()
    assert "noisy sums alone, over SecAgg" in " ".join(streams.out.split())
    (said,) = [line for line in streams.err.splitlines() if "without" in line]
    assert said.endswith("maskedbandit: without secagg, as their channels take none: raw")
    assert (tmp_path / "results" / "tiny-secagg" / "figure.png").exists()
    assert not (tmp_path / "results" / "tiny").exists()


@pytest.mark.parametrize(
    ("protocol", "said"),
    [
        ("secag", "backend is 'secag': did you mean 'secagg'?"),
        ("secagg", "the number of honest users counted on in a cohort of 8 is 6: it must be at least 32"),
        ("ideal", "protocol is 'ideal': it must be a real protocol"),
        ("shuffler", "protocol is 'shuffler': it must be one that a channel of tiny takes: this one is for shuffled"),
    ],
)
def test_a_protocol_that_cannot_be_is_one_line(protocol, said, file, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    file.write_text(TEXT.partition("[[curves]]")[0] + '[[curves]]\nchannel = { name = "distributed", honest = 0.75 }')
    assert main(["run", "tiny.toml", "--protocol", protocol]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("maskedbandit: ")
    assert said in last
    assert not (tmp_path / "results").exists() or not any((tmp_path / "results").iterdir())
