"""What is compiled ahead is all that a first study of its kind needs."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import maskedbandit as mb
from maskedbandit.cli import main
from maskedbandit.errors import InvalidValue, UnknownName
from maskedbandit.lab.experiments import compile_ahead as ahead
from maskedbandit.lab.experiments.compile_ahead import list_common_policies, list_settings_ahead
from maskedbandit.lab.experiments.examples import find_packaged_folder
from tests.for_each import for_each
from tests.golden import MULTI_ARMED

TEXT = """
horizon = 100_000_000
runs = 50
instance = { name = "bernoulli", means = [0.2, 0.8] }
policy = "uniform"
[[curves]]
channel = { name = "central", epsilon = 0.5 }
[[curves]]
label = "a real protocol"
channel = { name = "distributed", epsilon = 0.5, backend = "secagg" }
"""
STUDY = """
import maskedbandit as mb
mb.simulate(mb.policies.Uniform(), mb.channels.{}, mb.Bernoulli([0.9, 0.5, 0.1]), 5000, runs=3)
"""


def list_kernels(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("*.kernel")}


def study(channel: str, folder: Path) -> None:
    """A first study, in a process of its own that compiles whatever it needs."""
    env = os.environ | {"MASKEDBANDIT_CACHE": str(folder), "MASKEDBANDIT_KERNELS": "compiled"}
    env |= {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", STUDY.format(channel)], env=env, check=True)


@pytest.mark.slow
@pytest.mark.parametrize("processor", ["this", "any"])
def test_after_it_a_first_study_compiles_nothing(tmp_path: Path, monkeypatch, capsys, processor: str) -> None:
    """Nor does the command itself, if it is given again."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("MASKEDBANDIT_CACHE", str(folder))
    (tmp_path / "tiny.toml").write_text(TEXT)
    command = ["warm", str(tmp_path / "tiny.toml"), "--quiet", *["--any-processor"] * (processor == "any")]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert re.search(r"tiny/0, central +\d+\.\d s +\d\.\d MiB\n", said)
    assert "compiled 1 kinds of studies, and 0 were there" in said
    assert f"they are in {folder}\n" in said
    kept = list_kernels(folder)
    assert main(command) == 0
    assert "compiled 0 kinds of studies, and 1 were there; 0.0 MiB in " in capsys.readouterr().out
    study("Central(epsilon=1)", folder)
    assert list_kernels(folder) == kept
    if processor == "this":  # the control
        study("Raw()", folder)
        assert list_kernels(folder) > kept


@pytest.mark.slow
@for_each("name", MULTI_ARMED)
def test_a_policy_is_compiled_for_every_channel_that_suits_it_and_for_late_rewards(name: str) -> None:
    policy = mb.policies.room[name]()
    wanted: list[Any] = [each.setting for each in list_settings_ahead(name)]
    suits = [each for each in mb.channels.room if not policy.needs(channel_of(each).law())]
    assert [(type(each.channel), each.delay.rounds) for each in wanted] == [
        (mb.channels.room[channel], rounds) for channel in suits for rounds in (0, 10)
    ]
    assert {each.policy for each in wanted} == {policy}


def channel_of(name: str) -> Any:
    return mb.channels.Raw() if name == "raw" else mb.channels.room[name](epsilon=0.5)


def test_contextual_policies_have_contexts() -> None:
    wanted = list_settings_ahead("lin_ucb")
    assert {each.goal for each in wanted} == {"regret"}
    assert {type(each.setting.instance) for each in wanted} == {mb.LinearContexts}


def test_without_a_name_it_is_what_studies_begin_with() -> None:
    found = list_common_policies()
    assert found[0] == "noise_aware_klucb"
    assert "contemporaneous_klucb" in found
    assert all(list_settings_ahead(name) for name in found)


@pytest.mark.parametrize(("name", "label"), [("top_arms", "top_arms, central"), ("quickstart", "quickstart/0, ")])
def test_a_name_that_both_have_is_that_of_the_policy(name: str, label: str) -> None:
    assert (find_packaged_folder() / f"{name}.toml").exists()
    assert list_settings_ahead(name)[0].label.startswith(label)


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(UnknownName, match="policy is 'usb1': did you mean 'ucb1'"):
        list_settings_ahead("usb1")
    with pytest.raises(InvalidValue, match="weights of fixed_weights is None: it must be given"):
        list_settings_ahead("fixed_weights")


def test_a_folder_that_others_may_write_is_refused(tmp_path: Path, monkeypatch, capsys) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.setenv("MASKEDBANDIT_CACHE", str(tmp_path))
    assert main(["warm", "uniform", "--quiet"]) == 2
    assert "the folder of compiled kernels is" in capsys.readouterr().err


def test_few_people_take_part_whatever_the_experiment_says(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "tiny.toml").write_text(TEXT)
    (wanted,) = list_settings_ahead(str(tmp_path / "tiny.toml"))
    ran = list[Any]()
    monkeypatch.setattr(ahead, "find_goal", lambda name: type("", (), {"run": ran.append}))
    ahead.compile_setting(wanted)
    assert [(each.runs, each.task) for each in ran] == [(1, {"horizon": 1000})]
