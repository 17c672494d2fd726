"""The pages: what is on them, who may do what, and that nothing on them can be more than text."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from maskedbandit.cli.parts.forecast import in_words
from maskedbandit.lab.goals.plans import Forecast
from maskedbandit.service.page import health, visit
from maskedbandit.service.page.arm_order import SORTS, choose_sort, order_arms
from maskedbandit.service.page.form import EXAMPLE_FORM, read_protocol_form
from maskedbandit.service.page.sentences import say_preview
from maskedbandit.service.page.study_list import choose_studies
from maskedbandit.service.page.visit import render_page
from maskedbandit.service.views.view import ArmView, StudyView
from maskedbandit.study.protocol import Protocol
from maskedbandit.theory.best import Confidence
from tests.for_each import for_each
from tests.service.all_pages import ALL_ITEMS, HOSTILE, OWNER, all_pages, all_views

VOID = {"meta", "link", "input", "br"}


class Page(HTMLParser):
    """A page that was read: its elements in order, and what is wrong with how they are nested."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.feed(text)
        self.close()
        self.wrong += [f"<{tag}> is not closed" for tag in self.open]

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> closes something else")

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for each, attributes in self.elements if each == tag]


@pytest.fixture(scope="module")
def views() -> Iterator[dict[str, StudyView]]:
    with all_views() as found:
        yield found


@pytest.fixture(scope="module")
def pages(views: dict[str, StudyView]) -> dict[str, str]:
    return all_pages(views)


@pytest.mark.slow
def test_pages_are_nested_and_have_landmarks(pages: dict[str, str]) -> None:
    for name, text in pages.items():
        page = Page(text)
        assert page.wrong == [], name
        tags = [tag for tag, _ in page.elements]
        assert (tags.count("main"), tags.count("h1"), tags.count("header"), tags.count("footer")) == (1, 1, 1, 1), name
        assert page.all("html")[0]["lang"] == "en"
        ids = [str(each["id"]) for _, each in page.elements if "id" in each]
        assert len(ids) == len(set(ids)), name
        for _, each in page.elements:
            for attribute in ("aria-labelledby", "aria-describedby", "for"):
                assert set((each.get(attribute) or "").split()) <= set(ids), (name, each)
        labels = {each["for"] for each in page.all("label")}
        for tag in ("input", "select", "textarea"):
            assert all(each.get("type") == "hidden" or each["id"] in labels for each in page.all(tag)), name
        levels = [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag)]
        assert all(after <= before + 1 for before, after in pairwise(levels)), name


def check_only_text(text: str) -> None:
    """Nothing that a strict policy would refuse, and nothing that leaves the server's own pages."""
    page = Page(text)
    scripts = page.all("script")
    assert all(set(each) == {"src", "defer"} for each in scripts)
    sources = [each["src"] for each in scripts if each["src"] != "/static/copies.js"]
    assert sources in (["/static/page.js"], ["/static/person.js"])
    assert {each["rel"] for each in page.all("link")} == {"stylesheet", "icon"}
    for tag, attributes in page.elements:
        assert tag not in ("style", "img", "iframe", "object", "base"), tag
        assert not [each for each in attributes if each == "style" or each.startswith("on")], attributes
        for each in ("href", "src", "action"):
            assert re.match(r"/(?!/)|#|$", attributes.get(each) or ""), attributes
    assert "49 &" not in text
    assert "&lt;time" not in text, "what is no text of others is written as it is"
    assert "<img" not in text


@pytest.mark.slow
def test_what_is_said_once_is_in_no_part_that_is_replaced(pages: dict[str, str]) -> None:
    """A page that is kept up to date would take it away."""
    for name in ("ledger, notice", "ledger, usual draft"):
        said = re.search(r'<p class="notice good" role="status">', pages[name])
        assert said is not None
        assert said.start() < pages[name].index("data-part")


@pytest.mark.slow
def test_names_are_only_text(pages: dict[str, str], views: dict[str, StudyView]) -> None:
    for text in pages.values():
        check_only_text(text)
    assert "alert(1)" in pages["study, many"]
    arms = tuple(replace(arm, name=HOSTILE) for arm in views["running"].arms)
    hostile = replace(views["running"], arms=arms)
    for text in (
        render_page("study", OWNER, HOSTILE, view=hostile),
        render_page("ledger", OWNER, HOSTILE, view=hostile),
    ):
        check_only_text(text)
        assert "alert(1)" in text


@pytest.mark.slow
def test_a_page_that_does_not_escape_is_rejected(pages: dict[str, str]) -> None:
    for added in (
        HOSTILE,
        '<p style="color: red">',
        '<p onclick="x">',
        '<a href="javascript:x">',
        '<a href="//x.org">',
    ):
        with pytest.raises(AssertionError):
            check_only_text(pages["study, running"].replace("<h1>", f"{added}<h1>", 1))


@pytest.mark.slow
def test_each_picture_has_a_title_and_a_table(pages: dict[str, str]) -> None:
    page = Page(pages["study, running"])
    pictures, figures = page.all("svg"), re.findall("<figure.*?</figure>", pages["study, running"], re.DOTALL)
    assert len(pictures) == 2 * len(figures) >= 12
    for each in pictures:
        assert each["role"] == "img"
        assert len(str(each["aria-labelledby"]).split()) == 2
    for figure in figures:
        assert figure.count("<svg") == 2
        assert "<table" in figure
        assert figure.startswith(('<figure data-kind="released">', '<figure data-kind="operational">'))


KIND = ("released", "operational")


def find_unsaid(text: str) -> list[str]:
    """The parts of a page with numbers that do not say of which kind they are, or do not show what is no count.

    The legend says what numbers are unless they are marked: so all that is released is marked, and nothing else.
    """
    found = re.findall(r"<figure.*?</figcaption>|<table.*?</caption>", text, re.DOTALL)
    for facts in re.findall(r'<dl class="facts">.*?</dl>', text, re.DOTALL):
        found += re.findall(r"<div.*?</div>", facts, re.DOTALL)
    for checks in re.findall(r'<ul class="checks">.*?</ul>', text, re.DOTALL):
        found += re.findall(r"<li.*?</li>", checks, re.DOTALL)
    wrong = list[str]()
    for part in found:
        kind = re.match(r'<\w+[^>]* data-kind="(\w+)"', part)
        if (
            kind is None
            or kind[1] not in KIND
            or ('<span class="tag released">released</span>' in part) != (kind[1] == "released")
        ):
            wrong.append(part)
    return wrong


def test_each_number_says_what_it_is(pages: dict[str, str]) -> None:
    """Every fact, every table, every picture and every check; and a simulation once on each page that it is one."""
    for name, text in pages.items():
        if not name.startswith("statement"):  # which says of each of its tables what it is of
            assert find_unsaid(text) == [], name
    for name in ("study, running", "study, stopped", "ledger, stopped"):
        assert pages[name].count("A simulation") == 1
        assert 'class="tag simulated"' not in pages[name]
    assert "simulat" not in pages["study, ended"]
    legend = Page(pages["study, ended"]).text
    assert "Numbers are the plan, or count exactly who came" in legend
    assert "What is marked released comes from outcomes" in legend


@for_each(
    ("right", "wrong"),
    [
        ('<figure data-kind="released">', "<figure>"),
        ('<span class="tag released">released</span>', ""),
        ('<table id="table-play" data-kind="released">', '<table id="table-play" data-kind="operational">'),
        ('<li data-kind="operational"', "<li"),
        ('<div data-kind="operational"><dt>', "<div><dt>"),
    ],
)
def test_a_number_that_does_not_say_what_it_is_is_found(pages: dict[str, str], right: str, wrong: str) -> None:
    assert right in pages["study, harmful"]
    assert find_unsaid(pages["study, harmful"].replace(right, wrong)) != []


@pytest.mark.slow
def test_some_words_are_not_used(pages: dict[str, str]) -> None:
    for name, text in pages.items():
        words = Page(text).text.lower()
        for never in ("anonymous", "guaranteed safe", "p-value", "significant", "nan", "inf", "none", "undefined"):
            assert not re.search(rf"\b{never}\b", words) or (name, never) == ("glossary", "p-value"), (name, never)
    words = Page(pages["study, running"]).text
    for used in ("released", "Noise added for privacy", "budget", "73.2 times in 100", "not protected", "UTC"):
        assert used in words


PAUSES = {f"arms/{arm}/pause" for arm in ("short", "question", "numbers")}
BUTTONS = {
    ("usual draft", "owner"): set(),
    ("usual draft", "officer"): set(),
    ("running", "owner"): {"pause", "verify", "arms"} | PAUSES,
    ("running", "officer"): {"pause", "verify"} | PAUSES,
    ("paused", "owner"): {"resume", "verify", "arms"} | PAUSES,
    ("paused", "officer"): {"verify"} | PAUSES,
    ("stopped", "owner"): {"verify"},
    ("stopped", "officer"): {"verify"},
    ("running", None): set(),
    ("usual draft", None): set(),
}

ASKED = {
    ("usual draft", "owner"): {"start"},
    ("usual draft", "officer"): {"approve"},
    ("running", "owner"): {"stop"},
    ("running", "officer"): {"stop"},
    ("paused", "owner"): {"stop"},
    ("paused", "officer"): {"stop"},
    ("stopped", "owner"): {"archive"},
}


@pytest.mark.slow
@for_each(("stage", "role"), BUTTONS)
def test_buttons_are_those_of_the_role(views: dict[str, StudyView], stage: str, role: str | None) -> None:
    page = Page(render_page("study", role, "the-token", view=views[stage]))
    forms = {str(each["action"]): each["method"] for each in page.all("form")}
    assert set(forms.values()) <= {"post"}
    expected = {f"/studies/newsletter/{verb}" for verb in BUTTONS[stage, role]} | ({"/sign-out"} if role else set())
    assert set(forms) == expected
    tokens = [each for each in page.all("input") if each["name"] == "csrf"]
    assert len(tokens) == len(forms)
    assert all(each["value"] == "the-token" for each in tokens)
    links = {str(each["href"]) for each in page.all("a")}
    asked = {each for each in ("approve", "start", "stop", "archive") if f"/studies/newsletter/{each}" in links}
    assert asked == ASKED.get((stage, role), set()), "what cannot be undone is asked on a page of its own"
    assert ("/studies/newsletter/statement" in links) == (role is not None)
    assert ("/studies/newsletter/ledger.json" in links) == (role is not None and stage != "usual draft")
    assert ('href="/new"' in render_page("list", role, "", **choose_studies([]))) == (role == "owner")


@pytest.mark.slow
@for_each(
    ("stage", "said"),
    [
        ("usual draft", "A draft: nobody is given an arm until it is started."),
        ("started", "Running: 0 of 2 000 people have a place. Nothing was released yet."),
        ("running", "It is too early to tell which arm is best."),
        ("paused", "No places are given until it is resumed. Reports and releases go on."),
        ("stopped, waiting", "over; the next closes at 22 Nov 2026"),
        ("stopped", "of 2 000 people have a place."),
        ("stopped", "No more updates can be published for this study."),
        ("stopped", "given up, as their places are given to nobody any more."),
        ("archived", "Archived: everybody's data was erased, and what was released stays."),
        ("ended", "as all the people who were planned have seen their arms. 60 people have a place."),
        ("harmful", "numbers is the only arm in play."),
        ("all harmful", "as all its arms in play were found harmful. 295 people have a place."),
        ("all harmful", "numbers is the only arm in play, and it was found harmful too."),
        ("ended", "No more updates can be published for this study. Whoever comes is served"),
        ("negative", "Below zero because noise was added; shown as it was released."),
        ("answer", "The search has ended, and its answer is numbers, wrong with probability at most 0.2"),
        ("selected", "The search has ended, and its answer is short, numbers, wrong with probability at most 0.4"),
        ("selected", "No more updates can be published for this study."),
        ("none", "The search has ended, and its answer is no arm, wrong with"),
        ("fixed", "60 people have a place. The study has ended, and its answer is"),
        ("many", "12 open cohorts"),
        ("search", "Nobody has to be trusted with outcomes."),
        ("search", "The budget of each person is ε = 2 at δ = 1e-06"),
        ("gauss", "at δ = 1e-06"),
    ],
)
def test_what_is_said(pages: dict[str, str], stage: str, said: str) -> None:
    assert said in Page(pages[f"study, {stage}"]).text.replace("\N{NARROW NO-BREAK SPACE}", " ")


def test_what_is_as_it_should_be_is_said(views: dict[str, StudyView]) -> None:
    """And what is not is nowhere but in what needs attention."""
    right = replace(views["running"], attention=())
    titles = [check.title for check in health.check_health(right)]
    assert len(titles) == 3
    for kind, title in zip(("wrong_places", "places_unseen", "sample_ratio"), titles, strict=True):
        wrong = replace(right, attention=tuple(each for each in ALL_ITEMS if each.kind == kind))
        assert [check.title for check in health.check_health(wrong)] == [each for each in titles if each != title]
    ratio = replace(right.counts.ratio, groups=0)
    (*_, early) = health.check_health(replace(right, counts=replace(right.counts, ratio=ratio)))
    assert early.early


def test_the_plan_says_what_evaluating_a_flag_does(views: dict[str, StudyView]) -> None:
    view = views["running"]
    table = view.protocol.table
    for more, said in (({}, "counts"), ({"evaluating": "enrols"}, "does not count")):
        protocol = Protocol.from_table(table | {"reward": table["reward"] | more})
        text = Page(render_page("study", OWNER, "", view=replace(view, protocol=protocol))).text
        assert f"an evaluated flag {said} as seen" in text


@pytest.mark.slow
def test_what_is_wrong_is_said_at_the_top(views: dict[str, StudyView]) -> None:
    """And nothing is where all is well, or where it is too early to say."""
    for view in views.values():
        text = Page(render_page("study", OWNER, "", view=view)).text
        assert ("What needs your attention" in text) == bool(view.attention)
    wrong = Page(render_page("study", OWNER, "", view=replace(views["running"], attention=ALL_ITEMS)))
    assert {"href": "#attention"} in wrong.all("a")
    for each in ALL_ITEMS:
        assert wrong.text.index(f"{each.kind}.") < wrong.text.index("people have a place")


def test_the_statement_says_what_the_page_says(views: dict[str, StudyView], pages: dict[str, str]) -> None:
    said = views["stopped"].statement
    page = Page(pages["statement, stopped"]).text
    points = msgspec.to_builtins(said.points)
    for each in (said.odds, said.trust, *points.values(), *said.not_protected, *said.assumptions, said.ledger.head):
        assert " ".join(each.split()) in page
    assert "in all studies of project letters" in said.points.budget
    assert msgspec.json.decode(msgspec.json.encode(said))["protocol"] == views["stopped"].protocol.digest


SEARCH_FORM = {"people": "", "policy": "contemporaneous_elimination"}  # in place of what the example has


def test_a_preview_says_what_a_place_costs() -> None:
    found = dict(say_preview(Protocol.from_table(read_protocol_form(EXAMPLE_FORM)[0])))
    assert "73.2 times in 100" in found["What a place costs"]
    assert "6 666" in found["The answer"].replace("\N{NARROW NO-BREAK SPACE}", " ")
    search = dict(say_preview(Protocol.from_table(read_protocol_form({**EXAMPLE_FORM, **SEARCH_FORM})[0])))
    assert "until its answer is certain" in search["People"]


def sheet(name: str) -> str:
    """The style sheet, or the script."""
    return (Path(visit.__file__).parent / "static" / name).read_text()


def colours(dark: bool) -> dict[str, str]:
    """The colours of the style sheet."""
    text = sheet("page.css")
    light, _, rest = text.partition("@media screen and (prefers-color-scheme: dark)")
    found = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", light))
    return found | (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", rest)) if dark else {})


def contrast(one: str, other: str) -> float:
    """The contrast of two colours [WCAG 2.2]."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@for_each("dark", [False, True])
def test_colours_have_contrast(dark: bool) -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    found = colours(dark)
    for text in ("ink", "quiet", "accent", "good", "warn", "bad"):
        for ground in ("paper", "raised"):
            assert contrast(found[text], found[ground]) >= 4.5, (text, ground)
    assert contrast(found["on-accent"], found["accent"]) >= 4.5
    shapes = ["edge", "inner", "outer-edge", *(f"c{i}" for i in range(8))]
    for shape in shapes:
        assert contrast(found[shape], found["paper"]) >= 3, shape
    assert contrast(found["mean"], found["inner"]) >= 3


def test_the_style_sheet_and_the_script_are_whole() -> None:
    text = sheet("page.css")
    used = set(re.findall(r"var\(--([\w-]+)\)", text))
    assert used == set(colours(dark=False)) == set(colours(dark=True))
    assert text.count("{") == text.count("}")
    assert "url(" not in text
    assert len(sheet("page.js").splitlines()) < 60


@pytest.mark.slow
def test_a_thousand_arms_are_still_a_page(views: dict[str, StudyView]) -> None:
    """The pictures show some of them, and the tables all."""
    some = views["running"]
    arms = tuple(ArmView(f"arm{i}", None, some.arms[0].estimate) for i in range(1000))
    zeros = (0,) * 999
    counts = replace(
        some.counts,
        dealt=(*some.counts.dealt[:1], *zeros),
        seen=(*some.counts.seen[:1], *zeros),
        returned=(0, *zeros),
        columns=tuple(replace(each, arms=(*each.arms[:1], *zeros)) for each in some.counts.columns),
    )
    text = render_page("study", OWNER, "", view=replace(some, arms=arms, counts=counts))
    assert "The 40 arms with the highest means are drawn" in text
    assert "993 other arms" in text
    assert text.count("arm999") >= 2
    assert len(text) < 1_500_000


def test_the_page_names_the_best_arm_if_it_is_surely_that_and_else_none(views: dict[str, StudyView]) -> None:
    """However high its mean is."""
    running = views["running"]
    assert running.best is None

    def text(view: StudyView) -> str:
        return Page(render_page("study", OWNER, "", view=view)).text

    def sure(best: float) -> StudyView:
        first, *others = running.arms
        others = [replace(each, confidence=Confidence(0.0, best)) for each in others]
        return replace(running, arms=(replace(first, confidence=Confidence(best, 0.0)), *others))

    said = f"{running.arms[0].name} is the best arm in play, wrong with probability at most"
    assert f"{said} 0.05." in text(sure(0.95))
    assert "so is a bar of 95 % or more, in at most 5 of 100" in text(sure(0.95)).replace("\N{NO-BREAK SPACE}", " ")
    added = Protocol.from_table(running.protocol.table).also((("more", None),))
    assert f"{said} 0.1." in text(replace(sure(0.95), protocol=added))
    assert "best arm in play" not in text(sure(0.9499))
    assert "too early to tell which arm is best" in text(sure(0.9499))
    unknown = replace(running, arms=tuple(replace(each, confidence=None) for each in running.arms))
    assert "No two arms in play were compared over the same people" in text(unknown)
    assert "How surely another arm is better" not in text(unknown)


def test_arms_out_of_play_are_marked_come_last_and_lead_nowhere(views: dict[str, StudyView]) -> None:
    view = views["harmful"]
    paused, harmful, left = (each.name for each in view.arms)
    text = render_page("study", OWNER, "", view=view)
    page = Page(text).text
    assert f"{harmful} harmful" in page
    assert f"{harmful} (harmful)" in page
    assert f"{paused} (paused)" in page
    lead = re.findall(r'<p class="(?:state|lead)">(.*?)</p>', text, re.DOTALL)
    assert len(lead) == 2
    assert not any(harmful in each for each in lead)
    for sort in SORTS:
        assert order_arms(view, sort) == [2, 0, 1]
        shown = render_page("study", OWNER, "", view=view, sort=sort)
        for table in ("table-estimates", "table-play", "table-health"):
            rows = shown.partition(f'id="{table}"')[2].partition("</tbody>")[0]
            assert rows.index(left) < rows.index(paused) < rows.index(harmful)


def test_arms_are_sorted_as_whoever_looks_says(views: dict[str, StudyView]) -> None:
    view = views["running"]
    names, dealt = [each.name for each in view.arms], view.counts.dealt
    means = [each.estimate.mean if each.estimate else -1 for each in view.arms]
    assert order_arms(view) == [0, 1, 2]
    assert [names[arm] for arm in order_arms(view, "name")] == sorted(names) != names
    assert order_arms(view, "people") == sorted(range(3), key=lambda arm: -dealt[arm])
    assert order_arms(view, "mean") == sorted(range(3), key=lambda arm: -means[arm])
    text = render_page("study", OWNER, "", view=view, sort="mean")
    assert 'data-page="/studies/newsletter?sort=mean"' in text  # it is kept up to date in this order
    for sort, name in SORTS.items():
        assert (f'href="/studies/newsletter?sort={sort}#arms"' in text) == (sort not in ("", "mean")), name
    assert choose_sort("name") == "name"
    assert choose_sort("<script>") == ""


def test_releases_after_the_last_assignment_are_said(views: dict[str, StudyView]) -> None:
    view = views["running"]
    assert "later, at" not in render_page("study", OWNER, "", view=view)
    after = replace(view.counts, columns=view.counts.columns[:1])
    text = render_page("study", OWNER, "", view=replace(view, counts=after))
    end = after.columns[0].at + after.step
    many = sum(each.at > end for each in view.releases)
    assert many > 1
    assert f">{many} releases later, until 22 Nov 2026" in text


def test_the_index_names_the_parts_that_are_there(views: dict[str, StudyView]) -> None:
    for name in ("usual draft", "running", "harmful", "ended"):
        page = Page(render_page("study", OWNER, "", view=views[name]))
        targets = [str(each["href"]) for each in page.all("a") if str(each["href"]).startswith("#")]
        sections = [f"#{each['aria-labelledby']}" for each in page.all("section")]
        sections = [each for each in sections if each != "#attention"]  # which stands above the index
        assert [each for each in targets if each in sections] == sections


def test_arms_without_a_release_are_named(views: dict[str, StudyView]) -> None:
    first, *others = views["running"].arms
    arms = (ArmView(first.name, None, None, first.confidence), *others)
    text = render_page("study", OWNER, "", view=replace(views["running"], arms=arms))
    assert "nothing released yet" in text


def test_a_page_says_of_what_the_means_are_if_people_have_several_rewards(views: dict[str, StudyView]) -> None:
    running = views["running"]
    table = running.protocol.table
    several = Protocol.from_table({**table, "reward": {**table["reward"], "cap": 3, "most": 2}})
    for protocol, person in ((running.protocol, False), (several, True)):
        text = render_page("study", OWNER, "", view=replace(running, protocol=protocol))
        assert ("the sum of all rewards, cut at 6: what is above that is in no mean" in text) is person


@for_each("search", [False, True])
def test_a_forecast_beyond_all_calendars_has_a_page(search: bool) -> None:
    """Of a study of too many people for those who come in a day."""
    table = {**EXAMPLE_FORM, **(SEARCH_FORM if search else {"people": "10000000000"})}
    found = Forecast(1e10, 1.0, 1e300, 1.0, 1.0, 1.0, 0.0)
    said = dict(
        in_words(Protocol.from_table(read_protocol_form(table)[0]), found, 1e-3, datetime(2026, 1, 30, tzinfo=UTC))
    )
    assert "the year 2126 or later" in said["Finish"]
    assert ("nine of ten" in said["Finish"]) == search


def test_no_page_is_of_1970(pages: dict[str, str]) -> None:
    for name, text in pages.items():
        assert not re.search(r"\b1970\b", text), name  # within a hash it is no year
