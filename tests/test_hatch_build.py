"""The README on a package index: with an address links lead to it, and without one they are not there."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

ROOT = Path(__file__).parent.parent
TEXT = "See [a page](docs/a.md#top), [above](#one), [others](https://a.b/c).\n\n![A picture](docs/a.svg)\n\nThe end.\n"
SOURCE = "https://example.org/bandit"


@pytest.fixture
def hook(monkeypatch) -> ModuleType:
    """The file, without the build system that calls it."""
    stand_in = SimpleNamespace(MetadataHookInterface=object)
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", stand_in)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


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
