"""The programs by which a page says how to connect: each is run as it stands there, against a live service."""

import html
import re

from maskedbandit.service.page.connect import ANY_ADDRESS, find_address
from maskedbandit.store.own_keys import read_own_keys
from tests.service.inside import TABLE, Inside
from tests.service.test_site import Eyes
from tests.service.two_operators_inside import Both


def read_programs(page: str) -> dict[str, str]:
    """The programs of a page, by what they are called there."""
    parts = re.findall(r'id="connect-(\w+)" name="connect"(.*?)</details>', page, re.DOTALL)
    found = {name: re.search(r"<pre><code>(.*?)</code>", part, re.DOTALL) for name, part in parts}
    return {name: html.unescape(code[1]) for name, code in found.items() if code}


def shown(service: Inside, host: str = "bandit.test:8000", role: str = "owner", name: str = "small") -> str:
    """The page of a study, as it is asked for at an address."""
    eyes = Eyes(service)
    eyes.sign_in(role)
    return service.ask("GET", f"/studies/{name}", None, None, [("cookie", eyes.cookies), ("host", host)]).body.decode()


def test_a_running_study_without_people_says_how_to_connect(service: Inside) -> None:
    service.ask("POST", "/v1/studies", TABLE, "owner")
    assert 'id="connect"' not in shown(service)
    service.start("small")
    page = shown(service)
    assert '<details id="connect-all" open>' in page
    programs = read_programs(page)
    assert list(programs) == ["curl", "python", "node", "ofrep"]
    for each in programs.values():
        assert "http://bandit.test:8000" in each
        assert "small" in each
        assert "MASKEDBANDIT_KEY" in each
    assert not re.search(r"mb_(owner|officer|client|device)_", page)
    assert 'href="/studies/small/keys"' in page
    assert 'href="/studies/small/keys"' not in shown(service, role="officer")
    service.assign("ann")
    assert '<details id="connect-all">' in shown(service), "closed, and still there"
    service.study("pause", key="owner")
    assert 'id="connect"' not in shown(service)


def test_an_address_that_is_none_is_not_shown() -> None:
    wrong = ['"><script>alert(1)</script>', "bandit.test/path", "a b", "", "ann@bandit.test", "$(reboot)", "x" * 300]
    assert {find_address("http", host) for host in wrong} == {ANY_ADDRESS}
    assert find_address("javascript", "bandit.test") == ANY_ADDRESS
    assert find_address("https", "[::1]:8000") == "https://[::1]:8000"


def test_programs_for_two_operators_have_both_fingerprints(both: Both) -> None:
    programs = read_programs(shown(both.service))
    leader, helper = read_own_keys(both.service.host.witness).fingerprint, both.helper.keys.fingerprint
    assert list(programs) == ["curl", "python", "node", "ofrep"]
    assert f'Agreed(1, operators=("{leader}", "{helper}"))' in programs["python"]
    assert "report" not in programs["curl"]
