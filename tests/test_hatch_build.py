"""What is done when the package is built: the README on a package index, and loops that are compiled."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from maskedbandit.lab.engine import kernel_folder

ROOT = Path(__file__).parent.parent
TEXT = "See [a page](docs/a.md#top), [above](#one), [others](https://a.b/c).\n\n![A picture](docs/a.svg)\n\nThe end.\n"
SOURCE = "https://example.org/bandit"


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A file, without the build system that calls it."""
    stand_in = SimpleNamespace(MetadataHookInterface=object, BuildHookInterface=object)
    for interface in ("hatchling.metadata.plugin.interface", "hatchling.builders.hooks.plugin.interface"):
        monkeypatch.setitem(sys.modules, interface, stand_in)
    spec = importlib.util.spec_from_file_location(name, ROOT / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return load("hatch_build", monkeypatch)


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return load("hatch_loops", monkeypatch)


def test_without_an_address_links_are_text_and_pictures_are_left_out(hook) -> None:
    text = hook.for_an_index(TEXT, "", "1.0")
    assert text == "See a page, [above](#one), [others](https://a.b/c).\n\nThe end.\n"


def test_links_lead_to_the_files_of_the_version(hook) -> None:
    text = hook.for_an_index(TEXT, f"{SOURCE}/", "1.0")
    assert f"[a page]({SOURCE}/blob/v1.0/docs/a.md#top)" in text
    assert f"![A picture]({SOURCE}/raw/v1.0/docs/a.svg)" in text
    assert "[above](#one), [others](https://a.b/c)" in text


@pytest.mark.parametrize("urls", [{}, {"urls": {"Source": SOURCE}}])
def test_the_metadata_have_it(hook, urls) -> None:
    own = hook.Readme()
    own.root, metadata = str(ROOT), {"version": "1.0", **urls}
    own.update(metadata)
    assert metadata["readme"]["content-type"] == "text/markdown"
    assert (f"{SOURCE}/blob/v1.0/docs/regret.md" in metadata["readme"]["text"]) == bool(urls)
    assert "](docs/" not in metadata["readme"]["text"]


WHEEL = "Wheel-Version: 1.0\nTag: cp313-cp313-manylinux_2_27_x86_64\nTag: cp313-cp313-manylinux_2_28_x86_64\n"


def test_a_wheel_with_compiled_loops_is_for_the_platforms_of_numba_and_one_python(loops) -> None:
    assert loops.name_platform(WHEEL) == "cp313-cp313-manylinux_2_27_x86_64.manylinux_2_28_x86_64"


def build(loops: ModuleType, version: str) -> dict[str, Any]:
    """What is told to the build system."""
    own, told = loops.CompiledLoops(), {"force_include": {}, "pure_python": True}
    own.root = str(ROOT)
    own.initialize(version, told)
    told["force_include"] = {Path(path).name: where for path, where in told["force_include"].items()}
    own.finalize(version, told, "")
    return told


def test_it_brings_the_loops_and_their_notes_and_no_kernel(loops, monkeypatch) -> None:
    def compile_first_study(root: Path, folder: Path) -> None:
        for name in ("loop-1.kernel", "2.kernel", "3.compiled", ".lock"):
            (folder / name).touch()

    monkeypatch.setattr(loops, "compile_first_study", compile_first_study)
    told = build(loops, "standard")
    assert told["force_include"] == {name: f"{loops.FOLDER}/{name}" for name in ("loop-1.kernel", "3.compiled")}
    assert not told["pure_python"]
    assert sys.implementation.cache_tag.removeprefix("cpython-") in told["tag"].partition("-")[0]
    assert ROOT / "src" / loops.FOLDER == kernel_folder.PACKAGED


def test_an_editable_install_has_none(loops) -> None:
    assert build(loops, "editable") == {"force_include": {}, "pure_python": True}


def test_the_loops_are_those_of_the_first_study_in_the_readme(loops) -> None:
    study = loops.find_first_study((ROOT / "README.md").read_text())
    assert study.startswith("import maskedbandit as mb\n")
    assert "print(league)" in study
