"""The package as others get it: built, and used from environments that hold nothing else, on every Python there is."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from email import message_from_bytes
from pathlib import Path

import pytest
from packaging.metadata import Metadata

import maskedbandit

ROOT = Path(__file__).parent.parent
LAB, SERVICE = (f"and this needs it: pip install 'maskedbandit[{extra}]'" for extra in ("lab", "service"))
pytestmark = pytest.mark.slow

LIBRARY = """
import maskedbandit as mb
run = mb.simulate(mb.policies.UCB1(), mb.channels.Central(epsilon=0.5), mb.Bernoulli([0.9, 0.2]), 200, runs=2, seed=7)
run.to_csv("run.csv")
print(run.loss, mb.compare(run.policy, run.channel, run.instance, horizon=50))
"""


def pythons() -> list[str]:
    """Every Python of at least 3.11 on this machine, one for each version, the newest last; at least this one."""
    places = [Path(sys.executable).parent, *map(Path, os.environ["PATH"].split(os.pathsep))]
    if pyenv := shutil.which("pyenv"):
        root = subprocess.run([pyenv, "root"], capture_output=True, text=True, check=True).stdout.strip()
        places += Path(root).glob("versions/*/bin")
    found = {}
    for place in places:
        for path in place.glob("python3.*"):
            if re.fullmatch(r"python3\.(\d+)", path.name) and int(path.name[8:]) >= 11:
                code = "import sys, venv; print(*sys.version_info[:2])"
                said = subprocess.run([path, "-c", code], capture_output=True, text=True)
                if said.returncode == 0:
                    found.setdefault(tuple(map(int, said.stdout.split())), str(path))
    found.setdefault(tuple(sys.version_info[:2]), sys.executable)
    return [path for _, path in sorted(found.items())]


@dataclass(frozen=True)
class Environment:
    """An installation, and a folder in which it works."""

    home: Path

    @property
    def work(self) -> Path:
        return self.home / "work"

    def env(self) -> dict[str, str]:
        """Nothing of this process that would lead elsewhere; kernels are not compiled."""
        env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MASKEDBANDIT"))}
        home = {"HOME": str(self.work), "XDG_CACHE_HOME": str(self.work / "cache")}
        return env | home | {"MASKEDBANDIT_KERNELS": "python"}

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        where = [self.home / "bin" / command[0], *command[1:]]
        return subprocess.run(where, cwd=self.work, env=self.env(), capture_output=True, text=True, timeout=1200)

    def says(self, *command: str) -> str:
        done = self.run("maskedbandit", *command)
        assert done.returncode == 0, done.stderr
        return done.stdout


def install(what: str, *where: Environment) -> None:
    """Install this in all of these environments at once."""
    env = {**os.environ, "PIP_CONSTRAINT": str(ROOT / "constraints.txt")}
    quiet = ["--quiet", "--no-compile", "--disable-pip-version-check"]
    installs = [
        subprocess.Popen(
            [sys.executable, "-m", "pip", "--python", each.home / "bin" / "python", "install", *quiet, what],
            env=env,
            stderr=subprocess.PIPE,
        )
        for each in where
    ]
    for process in installs:
        _, said = process.communicate()
        assert process.returncode == 0, said.decode()


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with the source distribution, and the wheel that is built from it."""
    out = tmp_path_factory.mktemp("dist")
    env = {**os.environ, "PIP_CONSTRAINT": str(ROOT / "constraints.txt")}
    subprocess.run([sys.executable, "-m", "build", "--outdir", out, ROOT], check=True, env=env, capture_output=True)
    return out


@pytest.fixture(scope="module")
def wheel(built) -> Path:
    return next(built.glob("*.whl"))


def installed(pythons: list[str], wheel: Path, factory: pytest.TempPathFactory) -> list[Environment]:
    """An environment for each Python."""
    made = [Environment(factory.mktemp("environment")) for _ in pythons]
    for python, each in zip(pythons, made, strict=True):
        subprocess.run([python, "-m", "venv", "--without-pip", each.home], check=True)
        (each.home / "work").mkdir()
    install(str(wheel), *made)
    return made


def test_the_wheel_holds_the_package_and_nothing_else(wheel) -> None:
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == {"maskedbandit", f"maskedbandit-{maskedbandit.__version__}.dist-info"}
    source = ROOT / "src"
    ours = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    ours = {name for name in ours if "__pycache__" not in name and ".egg-info" not in name}
    tables = {f"maskedbandit/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "experiments").rglob("*.toml")}
    assert {name for name in names if name.startswith("maskedbandit/")} == ours | tables


def test_the_source_distribution_holds_what_it_takes_to_build_and_test(built) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    for name in (
        "pyproject.toml",
        "hatch_build.py",
        "hatch_loops.py",
        "constraints.txt",
        "Makefile",
        "README.md",
        "tests/test_cli.py",
    ):
        assert name in names
    assert not [name for name in names if name.startswith((".venv", "results", "dist"))]


def test_the_metadata_are_valid_and_the_readme_has_no_link_that_leads_nowhere_on_an_index(wheel) -> None:
    with zipfile.ZipFile(wheel) as file:
        content = file.read(next(name for name in file.namelist() if name.endswith("/METADATA")))
    Metadata.from_email(content, validate=True)
    text = message_from_bytes(content).get_payload()
    assert "# Masked Bandit" in text
    assert re.findall(r"\]\((?!https?:|#)[^)]*\)", text) == []
    assert "For researchers" in text


def test_it_works_alone_on_every_python_and_with_the_extras_on_the_newest(wheel, tmp_path_factory) -> None:
    environments = installed(pythons(), wheel, tmp_path_factory)
    for each in environments:
        done = each.run("python", "-W", "error", "-c", LIBRARY)
        assert done.returncode == 0, done.stderr
        assert "ε = 0.5 Comparison of 1, 20 runs each" in done.stdout
        assert (each.work / "run.csv").exists()
        assert each.says("--version") == f"maskedbandit {maskedbandit.__version__}\n"
        assert "polars              not installed (it comes with cluster, lab)" in each.says("--version", "--verbose")
    newest = environments[-1]
    check_commands_without_an_extra(newest)
    install(f"{wheel}[lab,service,postgres,client]", newest)
    check_commands_of_the_readme(newest)


def check_commands_without_an_extra(alone: Environment) -> None:
    """They work, or say in one line what to install."""
    for command, extra in {
        "run quickstart": LAB,
        "plot results/quickstart": LAB,
        "secagg-demo -n 64": LAB,
        "convert visits.gz": LAB,
        "study new newsletter": SERVICE,
        "serve --demo": SERVICE,
        "key new owner": SERVICE,
    }.items():
        done = alone.run("maskedbandit", *command.split())
        assert done.returncode == 2, done.stderr
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1
        assert done.stderr.endswith(f"{extra}\n")
    client = alone.run("python", "-c", "import maskedbandit.client")
    assert client.stderr.endswith("pip install 'maskedbandit[client]'\n")
    assert alone.says("generate", "--events", "50", "--out", "news.gz") == "news.gz\n"
    assert "ledger verify" in alone.says("ledger", "--help")
    said = alone.says("list")
    for name in ("successive_elimination", "distributed", "quickstart", "newsletter", "league_central"):
        assert f"  {name} " in said


def check_commands_of_the_readme(whole: Environment) -> None:
    assert "no privacy" in whole.says("run", "quickstart", "--only", "0", "--runs", "2")
    assert whole.says("plot", "results/quickstart").endswith("figure.png\n")
    assert "graph.png" in whole.says("secagg-demo", "-n", "64")
    assert "log" in whole.says("convert", "news.gz")
    assert '"state": "draft"' in whole.says("study", "new", "newsletter")
    assert '"state": "running"' in whole.says("study", "start", "--yes")
    assert '"ticket"' in whole.says("study", "assign", "ann")
    assert "newsletter: " in whole.says("ledger", "verify")
    assert '"key"' in whole.says("key", "new", "owner")
    assert whole.run("python", "-c", "import maskedbandit.client.openfeature").returncode == 0
    done = whole.run("maskedbandit", "run", "quickstart", "--cluster", "tcp://127.0.0.1:1", "--out", "other")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.endswith("pip install 'maskedbandit[cluster]'\n")
    command = [whole.home / "bin" / "maskedbandit", "serve", "--demo", "--port", "0"]
    with subprocess.Popen(command, cwd=whole.work, env=whole.env(), stdout=subprocess.PIPE, text=True) as process:
        said = process.stdout.readline()
        process.terminate()
    assert said.startswith("page         http://127.0.0.1:")


LEAGUE = """
import hashlib, os
{study}
fields = ("regret", "realised_regret", "pulls", "releases")
numbers = [getattr(run, name) for run in league.results.values() for name in fields]
print(hashlib.sha256(b"".join(each.tobytes() for each in numbers)).hexdigest())
"""


def run_league(where: Environment, study: str, way: str) -> tuple[str, set[str]]:
    """A digest of all numbers of the README's first study, and what it left in a folder that was empty."""
    cache = where.work / f"cache of {way}"
    env = where.env() | {"MASKEDBANDIT_KERNELS": way, "MASKEDBANDIT_CACHE": str(cache)}
    command = [where.home / "bin" / "python", "-W", "error", "-c", LEAGUE.format(study=study)]
    said = subprocess.run(command, env=env, cwd=where.work, capture_output=True, text=True, check=True).stdout
    return said.splitlines()[-1], {path.name for path in cache.glob("*.kernel")}


@pytest.fixture(scope="module")
def compiled_wheel(tmp_path_factory) -> Path:
    """The wheel for this Python that brings compiled loops."""
    out = tmp_path_factory.mktemp("compiled")
    env = os.environ | {"PIP_CONSTRAINT": str(ROOT / "constraints.txt"), "HATCH_BUILD_HOOK_ENABLE_CUSTOM": "true"}
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", out, ROOT]
    subprocess.run(command, check=True, env=env, capture_output=True)
    return next(out.glob("*.whl"))


def test_a_wheel_with_compiled_loops_is_for_this_python_and_compiles_nothing_in_the_first_study(
    compiled_wheel, wheel, tmp_path_factory
) -> None:
    """And every number is that of plain Python, to the last bit."""
    assert f"-cp{sys.version_info.major}{sys.version_info.minor}-" in compiled_wheel.name
    assert compiled_wheel.stat().st_size - wheel.stat().st_size < 1_000_000
    (own,) = installed([sys.executable], compiled_wheel, tmp_path_factory)
    assert "compiled loops      5 came with the package" in own.says("--version", "--verbose")
    study = (ROOT / "README.md").read_text().partition("```python\n")[2].partition("```")[0]
    python, _ = run_league(own, study, "python")
    for way in ("", "compiled"):
        assert run_league(own, study, way) == (python, set())
    elsewhere = study.replace("mb.channels.Central", "mb.channels.Distributed")  # the control, of one policy
    elsewhere = re.sub(r"policies = \[.*\]", "policies = [p.DPSE()]", elsewhere)
    assert run_league(own, elsewhere, "compiled")[1]
