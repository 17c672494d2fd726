"""The public names, and what importing them costs."""

import subprocess
import sys
from types import ModuleType

import pytest

import maskedbandit as mb

HEAVY = ("numba", "matplotlib", "polars", "pandas", "scipy", "numpy", "tqdm")


def loaded(code: str) -> set[str]:
    """Heavy modules that a fresh interpreter has loaded after running the code."""
    script = f"{code}\nimport sys\nprint(*[name for name in {HEAVY} if name in sys.modules])"
    return set(
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    )


def test_public_names_are_found() -> None:
    """The stub that is kept in the repository pins them: see test_types.py."""
    assert len(mb.__all__) >= 31
    assert all(getattr(mb, name) is not None for name in mb.__all__)
    assert set(mb.__all__) <= set(dir(mb))


def test_names_are_what_they_are_called() -> None:
    """Some modules hold a function of their own name."""
    modules = {name for name in mb.__all__ if isinstance(getattr(mb, name), ModuleType)}
    assert modules == {"backends", "channels", "delays", "errors", "noises", "policies", "theory", "worlds"}
    assert all(getattr(mb, name).__name__ == name for name in mb.__all__ if name not in modules)


@pytest.mark.parametrize(
    ("package", "name", "meant"),
    [
        (mb, "simulat", "simulate"),
        (mb, "bernouli", "Bernoulli"),
        (mb, "noise", "noises"),
        (mb.policies, "ucb_2", "UCB1"),
        (mb.policies, "SUCESSIVE-ELIMINATION", "SuccessiveElimination"),
        (mb.policies, "thompson", "DPThompson"),
        (mb.channels, "shuffle", "Shuffled"),
        (mb.noises, "Laplace", "DiscreteLaplace"),
        (mb.worlds, "Gaussian", "ClippedGaussian"),
    ],
)
def test_an_unknown_name_is_an_attribute_error_that_suggests_a_near_one(package, name, meant) -> None:
    with pytest.raises(AttributeError, match=rf" is '{name}': did you mean '{meant}'\?"):
        getattr(package, name)


@pytest.mark.parametrize(
    ("package", "name"),
    [(mb, "plot"), (mb, "fit"), (mb.policies, "nothing_like_it"), (mb.policies, "exp3"), (mb.channels, "secagg")],
)
def test_an_unknown_name_that_is_near_no_other_lists_what_there_is(package, name) -> None:
    with pytest.raises(AttributeError, match=rf" is '{name}': \(known: .*\)$"):
        getattr(package, name)


@pytest.mark.parametrize("room", [mb.policies, mb.channels, mb.noises])
def test_rooms_answer_to_class_and_file_names(room) -> None:
    for name in room.room:
        assert room.room[name] is getattr(room, room.room[name].__name__)
    with pytest.raises(AttributeError, match="did you mean"):
        _ = getattr(room, next(iter(room.room)) + "x")


def test_rooms_show_their_classes() -> None:
    assert {"UCB1", "SuccessiveElimination"} <= set(dir(mb.policies))
    assert {"Central", "Distributed"} <= set(dir(mb.channels))
    assert {"DiscreteLaplace", "Skellam"} <= set(dir(mb.noises))


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded("import maskedbandit") == set()


def test_the_command_line_loads_nothing_heavy_to_print_its_help() -> None:
    assert loaded("from maskedbandit.cli import parser\nparser().format_help()") == set()


@pytest.mark.slow
def test_an_experiment_is_read_without_what_draws_it() -> None:
    """It would take half of the time until the first run, also where an experiment is refused."""
    code = "from maskedbandit.lab.experiments.examples import find_experiment\n"
    code += "from maskedbandit.lab.experiments.experiment import read_experiment\n"
    code += "from maskedbandit.lab.goals import list_goals\n"
    code += "read_experiment(find_experiment('quickstart'))\n[goal.shown for goal in list_goals().values()]"
    found = loaded(code)
    assert "polars" in found
    assert "matplotlib" not in found


def test_the_client_loads_nothing_heavy_and_nothing_of_the_server() -> None:
    assert loaded("import maskedbandit.client, maskedbandit.client.openfeature") == set()
    code = "import maskedbandit.client, sys\n"
    code += "ours = {name.split('.')[1] for name in sys.modules if name.startswith('maskedbandit.')}\n"
    code += "small = {'client', 'device_refusals', 'errors', 'extras', 'person_attributes'}\n"
    code += "small |= {'private_files', 'value_words'}\n"
    assert loaded(code + "assert ours == small, ours") == set()
    assert loaded(code + "assert not {'openfeature', 'msgspec', 'starlette'} & set(sys.modules)") == set()


def test_a_device_needs_no_compiler_and_no_table() -> None:
    code = "from maskedbandit.channels.distributed import Distributed\nfrom maskedbandit.privacy.sampling import Bits\n"
    code += "channel = Distributed(epsilon=0.5)\n"
    assert loaded(code + "channel.randomize(1, channel.offer(64), Bits())") <= {"numpy"}


@pytest.mark.slow
def test_a_heavy_import_is_found() -> None:
    assert loaded("import maskedbandit.lab.goals.drive") >= {"numpy"}
