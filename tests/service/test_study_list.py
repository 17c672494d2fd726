"""The list of studies over HTTP: what is found in it, by whom, and in which order arms are shown."""

import re

from maskedbandit.service.page.study_list import choose_studies
from maskedbandit.service.page.visit import render_page
from maskedbandit.service.views.summaries import StudySummary
from tests.service.inside import TABLE, Inside
from tests.service.test_page import OWNER, Page
from tests.service.test_site import Eyes


def test_studies_are_found_by_words_and_by_state() -> None:
    def summary(name: str, state: str, about: str = "") -> StudySummary:
        return StudySummary(name, about, state, False, 0, None, 0)

    seen = [summary("spring", "running", "Which Greeting is answered"), summary("greeting-2", "draft")]
    for text, state, found in (
        ("", "", ["spring", "greeting-2"]),
        ("greeting", "", ["spring", "greeting-2"]),
        ("ANSWERED greeting", "", ["spring"]),
        ("", "draft", ["greeting-2"]),
        ("spring", "draft", []),
        ("%", "", []),
    ):
        assert [each.name for each in choose_studies(seen, text, state)["studies"]] == found
    text = Page(render_page("list", OWNER, "", **choose_studies(seen, "spring", "draft"))).text
    assert "0 studies of 2." in text


def list_links(eyes: Eyes, query: str) -> list[str]:
    """The studies that a search finds."""
    found = eyes.get(f"/studies?{query}")
    assert found.status == 200
    return re.findall(r'<h2><a href="/studies/([^"]+)">', found.body.decode())


def test_a_search_is_an_address_and_shows_nothing_that_is_not_for_these_eyes(service: Inside) -> None:
    service.begin()
    service.begin(name="other", about="what small print does")
    assert service.ask("POST", "/v1/studies", dict(TABLE, name="small-draft"), "owner").status == 201
    eyes = Eyes(service)
    assert list_links(eyes, "q=small") == []  # nobody has signed in
    eyes.sign_in("owner")
    assert list_links(eyes, "") == ["small-draft", *list_links(eyes, "state=running")]
    assert set(list_links(eyes, "q=small")) == {"small", "small-draft", "other"}
    assert list_links(eyes, "q=small&state=draft") == ["small-draft"]
    assert list_links(eyes, "q=%3Cscript%3E&state=%22%3E") == []
    assert "<script>alert" not in eyes.get("/studies?q=%3Cscript%3Ealert(1)&state=%22%3E").body.decode()
    service.keys["officer of other"] = service.scoped("officer", "other")
    eyes.sign_in("officer of other")
    assert list_links(eyes, "q=small") == ["other"]


def test_the_order_of_arms_is_an_address(service: Inside) -> None:
    service.begin()
    eyes = Eyes(service)
    eyes.sign_in("officer")
    for given, kept in (("mean", "?sort=mean"), ("", ""), ("%22%3E%3Cscript%3E", "")):
        found = eyes.get(f"/studies/small?sort={given}")
        assert found.status == 200
        assert f'data-page="/studies/small{kept}"' in found.body.decode()
