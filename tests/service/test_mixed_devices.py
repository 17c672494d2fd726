"""A study of each trust model from its first person to its answer, with pages in Chromium and devices in Python.

`mixed_devices` plays one with as many people as one likes.
"""

from pathlib import Path

import pytest

from tests.service.browser import chromium
from tests.service.mixed_devices import MEANS, TRUSTS, check_releases, play_mixed_study
from tests.service.web_pages import build_package, serve_site


@pytest.mark.slow
def test_whole_studies_release_what_devices_of_both_kinds_recorded(tmp_path: Path) -> None:
    """With so little noise that all sums are seen: with other bits it fails with a chance below 1e-24."""
    build_package(tmp_path / "site")
    with chromium() as browser, serve_site(tmp_path / "site") as site:
        for trust in TRUSTS:
            (tmp_path / trust).mkdir()
            found = play_mixed_study(trust, 12, 12, browser, site, tmp_path / trust, rounds=2)
            check_releases(found, TRUSTS[trust].noise)
            counted = 24 - found.missing * TRUSTS[trust].adds_up
            assert sum(n for each in found.released for n, _ in each.values()) == counted
            assert found.answer in MEANS
            assert found.missing > 0, "everybody came back"
