"""What the pages of a site and of its coordinator count, on databases of both kinds."""

from pathlib import Path

import pytest

from tests.service.sites_inside import SitesInside
from tests.service.test_site_pages import STUDY, look, send, sign_in, text_of


@pytest.mark.slow
@pytest.mark.parametrize("where", ["coordinator", "site0"])
def test_pages_on_databases_of_both_kinds(address: str, tmp_path: Path, where: str) -> None:
    class Placed(SitesInside):
        def find_address(self, folder: Path) -> str:
            return address if folder.name == where else super().find_address(folder)

    sites = Placed(tmp_path)
    sites.fill()
    site, coordinator = sites.sites[0], sites.coordinator
    officer, owner = sign_in(site, "officer"), sign_in(coordinator, "owner")
    assert "6 people of this site have a place" in text_of(look(site, officer))
    assert text_of(look(coordinator, owner)).count("not begun") == 2
    sites.clock.now += 21_000
    sites.go_round(rounds=2)
    assert " sent, 1 of 5" in text_of(look(site, officer))
    assert "sealed key shares, 2 of 5" in text_of(look(coordinator, owner))
    sites.go_round()
    assert text_of(look(site, officer)).count("over: 3 sites added up") == 2
    assert "Everything fits" in text_of(send(site, officer, f"{STUDY}/verify"))
    assert text_of(look(coordinator, owner)).count("0 of 2") == 3
    sites.close()
