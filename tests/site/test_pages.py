"""What the pages of the site are written from: links, citations, docstrings, experiments, figures, the navigation."""

import doctest
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from maskedbandit.service.api import list_routes
from maskedbandit.service.helping import list_helper_routes
from tests.for_each import for_each
from tools.site import checkout
from tools.site.citations import BIBLIOGRAPHY, describe_entry, link_citations, list_cited, read_bibliography
from tools.site.command_line import write_command_line
from tools.site.docstrings import write_docstring
from tools.site.experiments import list_experiments, list_named, write_experiment
from tools.site.formulas import set_formulas
from tools.site.gallery import find_command, list_commands, list_pictures, write_gallery
from tools.site.glossary import read_terms
from tools.site.http_interface import write_http
from tools.site.links import rewrite_links
from tools.site.llms import write_llms
from tools.site.modules import PATH, find_module, imported_modules, linked_modules, list_modules, list_places
from tools.site.nav import list_pages, write_configuration
from tools.site.pages import WRITTEN, Site
from tools.site.rooms import split_departures, write_class, write_index
from tools.site.shelves import SHELVES
from tools.site.tutorials import offer_file, write_file
from tools.site.versions import list_versions, write_versions

MODULES = ("checkout", "links", "citations", "docstrings", "experiments", "formulas", "modules", "nav", "rooms")


@for_each("name", MODULES)
def test_examples_in_docstrings_are_true(name: str) -> None:
    found = doctest.testmod(import_module(f"tools.site.{name}"))
    assert found.attempted
    assert not found.failed


# --- links ------------------------------------------------------------------------------------------------------

PAGES = {"docs/a.md": "a.md", "src/m.py": "api/m.md#m", "docs/x.svg": "x.svg", "README.md": "index.md"}


def rewritten(text: str, file: str = "docs/b.md", page: str = "b.md") -> str:
    return rewrite_links(text, file, page, PAGES)


def test_links_lead_to_pages_from_wherever_a_page_is() -> None:
    assert (
        rewritten("[one](a.md), [two](a.md#b), [three](../src/m.py)")
        == "[one](a.md), [two](a.md#b), [three](api/m.md#m)"
    )
    assert rewritten("[a](../docs/a.md) ![x](../docs/x.svg)", "t/b.toml", "t/b.md") == "[a](../a.md) ![x](../x.svg)"
    assert rewritten('<img src="x.svg"><a href="../README.md">') == '<img src="x.svg"><a href="index.md">'
    assert rewritten("[out](https://a.b/c.md) [here](#d)") == "[out](https://a.b/c.md) [here](#d)"
    assert rewritten("```\n[a](gone.md)\n```\n[a](gone.md)") == "```\n[a](gone.md)\n```\na"


def test_what_has_no_page_leads_to_the_repository_if_its_address_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "[`t.py`](../tests/t.py#L3) ![y](y.png)!"
    assert rewritten(text) == "`t.py` !"
    monkeypatch.setattr(checkout, "ADDRESS", "https://code.example/us")
    at = f"https://code.example/us/{{}}/v{checkout.VERSION}"
    assert rewritten(text) == f"[`t.py`]({at.format('blob')}/tests/t.py#L3) ![y]({at.format('raw')}/docs/y.png)!"


def test_a_link_that_says_the_name_of_a_document_says_its_title() -> None:
    pages = {"docs/regret.md": "regret.md"}
    assert rewrite_links("see [regret.md](regret.md)", "docs/b.md", "b.md", pages).startswith("see [Regret: which")


# --- citations and docstrings -----------------------------------------------------------------------------------


def test_every_entry_of_the_bibliography_is_a_line_of_text() -> None:
    entries = read_bibliography(BIBLIOGRAPHY.read_text())
    assert len(entries) > 80
    for key, fields in entries.items():
        line = describe_entry(fields)
        assert "\\" not in line.replace("\\n", ""), (key, line)
        assert not set("{}$") & set(line), (key, line)
        assert fields.get("year", "") in line, (key, line)


def test_citations_are_links_but_not_in_code() -> None:
    cited = "[CZ23, Thm. 1; Mir12]"
    assert link_citations(f"so {cited}.") == r"so \[[CZ23, Thm. 1][CZ23]; [Mir12][Mir12]\]."
    for code in (f"`{cited}`", f"```\n{cited}\n```", f"{cited}(x.md)", f"So:\n\n    x {cited}", "[0, 1]", "[Abc]"):
        assert link_citations(code) == code
    assert list(list_cited(f"{cited} `[SS19]`")) == ["CZ23", "Mir12"]


def test_a_docstring_has_its_lists_its_examples_and_links_to_documents() -> None:
    written = write_docstring("It is so:\n* one,\n* two.\n\n>>> f()\n1\n\nSee docs/regret.md, `docs/regret.md`.", "m")
    assert written.startswith("It is so:\n\n* one,\n* two.\n\n```pycon\n>>> f()\n1\n```\n\nSee [Regret: which")
    assert written.endswith("](../regret.md), `docs/regret.md`.")


def test_a_path_in_a_docstring_leads_to_the_page_of_its_module() -> None:
    near = "maskedbandit.policies.regret.ucb1"
    place = "../api/policies.md#maskedbandit.policies.parts.race"
    assert write_docstring("See parts/race.py.", near) == f"See [`parts/race.py`]({place})."
    assert write_docstring("As [dp_klucb.py].", near) == "As [[`dp_klucb.py`](../policies/dp_klucb.md)]."
    for text in ("`race.py`", "    x (race.py)", "nothing.py", "tests/race.py", "```\nrace.py\n```"):
        assert write_docstring(text, near) == text
    assert find_module("rows.py", near) == ""  # of many none is nearer than the others


def test_every_path_on_the_page_of_a_class_leads_somewhere() -> None:
    for shelf in SHELVES:
        for name in shelf.room:
            module = shelf.room.modules[name]
            for text in (import_module(module).__doc__ or "", shelf.room[name].__doc__ or ""):
                paths = [found[1] for found in PATH.finditer(text) if found[1]]
                assert [path for path in paths if find_module(path, module) not in list_places()] == [], module


def test_a_formula_is_set_and_code_and_names_are_not() -> None:
    assert set_formulas("(D + Y)_+² of Y_a²/n_a, w_a^{ε_s}, T*_β, p_{n_j}") == (
        "(D + Y)<sub>+</sub>² of Y<sub>a</sub>²/n<sub>a</sub>, w<sub>a</sub><sup>ε<sub>s</sub></sup>, T*<sub>β</sub>, "
        "p<sub>n<sub>j</sub></sub>"
    )
    assert set_formulas("So\n\n    x ≤ 2^−l < `a_b`,\n    y\n\nor") == (
        'So\n\n<pre class="formula">x ≤ 2<sup>−l</sup> &lt; <code>a_b</code>,\ny</pre>\n\nor'
    )
    for code in ("`n_a`", "see ada_p_tt.py, dp_tt.py and a/log_mgf_of.md", "most_wrong", "So\n\n    pip install x\n"):
        assert set_formulas(code) == code


def test_departures_are_under_a_heading_of_their_own() -> None:
    text = "UCB: x [ACF02].\n\nDepartures: here it has\n\n    y\n\nfor z.\n* One.\n\nRegret."
    assert split_departures(text) == ("UCB: x [ACF02].\n\nRegret.", "Here it has\n\n    y\n\nfor z.\n* One.")
    assert split_departures("UCB.\n\n    x\n\nfor y.") == ("UCB.\n\n    x\n\nfor y.", "")
    page = write_class(SHELVES[0], "successive_elimination")
    departures = page.partition("\n## Departures\n\n")[2].partition("\n::: ")[0]
    assert departures.startswith("The radius has no term for rounding")
    assert departures.rstrip().endswith('`unfinished="start"`.')
    assert "Departures: " not in page
    assert "## Departures" not in write_class(SHELVES[0], "noise_aware_klucb")


def test_every_policy_has_a_source_or_is_said_to_have_none() -> None:
    room = SHELVES[0].room
    for name in room:
        text = " ".join((import_module(room.modules[name]).__doc__ or "").split())
        cites = bool(list(list_cited((import_module(room.modules[name]).__doc__ or "").partition("\n\n")[0])))
        assert cites != ("this project's own" in text), name


# --- what is written ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_class_of_a_room_has_a_page_with_its_docstring_its_sources_and_its_league() -> None:
    policies, channels, noises = SHELVES[:3]
    ucb1 = write_class(policies, "ucb1")
    assert ucb1.startswith(
        "# UCB1\n\nUCB1: the arm of the highest upper confidence bound \\[[ACF02, Fig. 1][ACF02]\\]."
    )
    assert '\n<pre class="formula">arm = argmax<sub>a</sub>  S<sub>a</sub> / n<sub>a</sub> + √(2' in ucb1
    assert "::: maskedbandit.policies.regret.ucb1.UCB1\n" in ucb1
    assert "`mb.policies.UCB1`" in ucb1
    assert 'policy = "ucb1"' in ucb1
    assert "* [ACF02][ACF02]: Peter Auer, Nicolò Cesa-Bianchi and Paul Fischer." in ucb1
    assert "(../figures/league_" in write_class(policies, "noise_aware_klucb")
    assert "Examples and numbers: [" in write_class(policies, "ada_c_gope")
    assert all(
        "## In figures" in page or "## On other pages" in page
        for page in map(partial(write_class, policies), policies.room)
    )
    assert 'channel = "central"' in write_class(channels, "central")
    assert 'noise = "skellam"' in write_class(noises, "skellam")
    index = write_index(policies)
    assert all(f"[{policies.room[name].__name__}]({name}.md)" in index for name in policies.room)
    assert index.index("## Policy for regret") < index.index("## Policy for the best arm")


def test_the_api_has_every_module_that_a_document_uses_or_links_to() -> None:
    text = "```python\nfrom maskedbandit.study.driver import Driver\n```\n[law](../src/maskedbandit/law.py)"
    assert imported_modules(text) == {"maskedbandit.study.driver"}
    assert linked_modules(text, "docs/x.md") == {"maskedbandit.law"}
    assert linked_modules(text, "x.md") == set()
    modules = list_modules()
    assert {"maskedbandit.study.driver", "maskedbandit.study.signatures"} <= set(modules["study"])
    assert modules["law"] == ["maskedbandit.law"]


def test_names_are_found_wherever_an_experiment_has_them() -> None:
    (quickstart,) = (one for one in list_experiments() if one.name == "quickstart")
    assert set(list_named(quickstart.table, "policy")) == {"noise_aware_klucb"}
    assert "response" in list_named(quickstart.table, "channel")
    page = write_experiment(quickstart)
    assert "    maskedbandit run quickstart\n" in page
    assert quickstart.text.strip() in page


def test_every_figure_is_in_the_gallery_with_a_command() -> None:
    documents = checkout.list_documents()
    gallery = write_gallery(documents)
    for _, pictures in list_pictures():
        assert [each for each in pictures if f"../{each}" not in gallery] == []
    assert "    maskedbandit audit newsletter --out results/audit\n" in gallery
    assert "Shown in: [Regret" in gallery


def test_a_figure_that_nothing_draws_is_refused() -> None:
    makefile = "a:\n\tb\n\nfigures: setup\n\t@$(BIN)/python -m t docs/figures/x.svg\n\n"
    commands = list_commands(makefile)
    assert find_command("docs/figures/x.svg", commands) == "python -m t docs/figures/x.svg"
    with pytest.raises(SystemExit, match="nothing says what draws it"):
        find_command("docs/figures/y.svg", commands)


def test_the_glossary_has_every_term_once() -> None:
    terms = read_terms((checkout.ROOT / "docs" / "concepts.md").read_text())
    assert {"cohort", "release", "witness"} <= set(terms)
    assert terms["arm"].startswith("one of the options")
    assert (
        read_terms("# C\n\n## Glossary\n\n| term | meaning |\n|---|---|\n| a | b |\n\n## D\n\n| c | d |\n")["a"] == "b"
    )


def test_every_command_and_its_options_are_on_the_page() -> None:
    page = write_command_line()
    assert "\n## secagg-demo\n" in page
    assert "--without-helper" in page


def test_every_request_is_on_the_page_of_http_with_who_may_make_it() -> None:
    page = write_http()
    assert all(f"| `{route.method} {route.path}` |" in page for route in [*list_routes(), *list_helper_routes()])
    assert "| `POST /v1/studies/{study}/arms` | owner | `name`, `payload` | Add an arm." in page


def test_a_tutorial_offers_its_file_before_its_second_heading() -> None:
    text = "# T\n\nA.\n\n## B\n\n## C\n"
    offered = '# T\n\nA.\n\nThe file of this page: <a href="t.md" download>t.md</a>.\n\n## B\n\n## C\n'
    assert offer_file("docs/tutorials/t.md", text) == offered
    assert offer_file("docs/t.md", text) == text


def test_the_file_of_a_tutorial_has_its_pictures_and_leads_to_no_file() -> None:
    name = "docs/tutorials/own_policy.md"
    text = "![A](../figures/quickstart.svg) [B](../plan.md), [C](../changing_arms.md#d)\n\n```python\n[x](y)\n```\n"
    there = write_file(name, text)
    assert there.startswith("![A](data:image/svg+xml;base64,")
    assert there.endswith(") B, C\n\n```python\n[x](y)\n```\n")


# --- navigation, llms.txt, versions -------------------------------------------------------------------------------


def configure(tmp_path: Path, *more: str) -> list[object]:
    site = Site(tmp_path / "pages")
    (site.folder / "folder").mkdir(parents=True)
    folders = site.nav | {f"{each}/": [f"folder/{each}.md"] for each in ("policies", "channels", "noises", "backends")}
    folders |= {f"{each}/": [f"folder/{each}.md"] for each in ("worlds", "delays", "experiments", "api")}
    written = [*WRITTEN, *more]
    folder = [page for pages in folders.values() for page in pages]
    for page in {*written, *folder, *(site.pages[each] for each in site.documents)}:
        (site.folder / page).parent.mkdir(exist_ok=True)
        (site.folder / page).write_text(f"# {page}\n\nIts [first](x.md) paragraph.\n\nIts second.\n")
    return write_configuration(tmp_path, folders)


def test_every_document_is_in_the_navigation_and_in_llms_txt(tmp_path: Path) -> None:
    (tmp_path / "site" / "0.0.1").mkdir(parents=True)
    (tmp_path / "site" / "0.0.1" / "own_policy.md").touch()  # built before, and no page
    nav = configure(tmp_path)
    assert "folder/noises.md" in list_pages(nav)
    assert "site_dir: site/" in (tmp_path / "mkdocs.yml").read_text()
    lines = write_llms(tmp_path / "pages", nav).splitlines()
    assert lines[0] == "# Masked Bandit"
    assert "- [regret.md](regret.html): Its first paragraph." in lines
    assert "- [folder/noises.md](folder/noises.html): Its first paragraph." in lines


def test_a_page_without_a_place_in_the_navigation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"\['forgotten.md'\]"):
        configure(tmp_path, "forgotten.md")


def test_the_newest_version_is_first_by_number(tmp_path: Path) -> None:
    for name in ("0.9.0", "0.10.0"):
        (tmp_path / name).mkdir()
        for page in ("index.html", "404.html"):
            (tmp_path / name / page).touch()
    write_versions(tmp_path)
    assert list_versions(tmp_path) == ["0.10.0", "0.9.0"]
    assert (tmp_path / "versions.json").read_text() == (
        '[{"version": "0.10.0", "title": "0.10.0", "aliases": ["latest"]}, '
        '{"version": "0.9.0", "title": "0.9.0", "aliases": []}]'
    )
    assert 'url=0.10.0/index.html"' in (tmp_path / "index.html").read_text()
    assert not list(tmp_path.glob("*/404.html"))
