"""The form of a study says what a protocol can: all of it or none, and all that is wrong, each at its field."""

import html
import re
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskedbandit.cli.parts import forecast
from maskedbandit.service.page import form
from maskedbandit.service.page.form import (
    EXAMPLE_FORM,
    FIELDS,
    fill_protocol_form,
    name_field,
    read_protocol_form,
    read_sent_form,
)
from maskedbandit.service.page.policy_choices import list_policy_choices
from maskedbandit.service.page.trust_models import list_trust_models
from maskedbandit.service.request.multipart import read_multipart
from maskedbandit.study.faults import list_faults
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.toml_text import write_toml
from tests.for_each import for_each
from tests.service.inside import TABLE, Inside, Reply
from tests.service.test_site import Eyes, field
from tests.study.test_coalitions import make_protocol

STUDIES = sorted(Path("experiments/studies").glob("*.toml"))
KEY, OTHER = "5b" * 32, "c0" * 32
PLAIN: dict[str, Any] = TABLE | {"policy": "successive_elimination"}
SAYABLE: list[dict[str, Any]] = [
    PLAIN,
    PLAIN | {"about": "which one\nis “better”?", "project": "shop", "budget": {"epsilon": 1.0, "period": "90 days"}},
    PLAIN | {"channel": {"name": "response", "epsilon": "1/3"}, "reward": {"rule": "first", "grace": "1 day"}},
    PLAIN | {"channel": {"name": "local", "epsilon": 0.5}, "reward": {"rule": "sum", "cap": 3, "most": 2.5}},
    PLAIN | {"channel": {"name": "central"}, "budget": {"rho": "1/2", "period": "1.5 days"}},
    PLAIN | {"channel": {"name": "central", "epsilon": 1e-6}, "budget": {"epsilon": 9, "delta": 1e-06}},
    PLAIN | {"reward": {"least": -1, "most": 1, "default": 0.25, "evaluating": "enrols"}},
    PLAIN | {"signed_by": KEY},
    PLAIN | {"signed_by": [KEY, OTHER]},
    PLAIN | {"arms": [{"name": "a", "payload": None}, {"name": "b", "payload": [1, 1.0, "x", {"é": True}]}]},
    PLAIN | {"arms": [{"name": f"arm-{number}", "payload": number} for number in range(60)]},
    {
        **{key: value for key, value in PLAIN.items() if key != "people"},
        "policy": "contemporaneous_elimination",
        "delta": 0.1,
    },
    {
        **PLAIN,
        "guardrail": {
            "name": "left",
            "harm": {"above": 0.02, "against": "b"},
            "share": "1/4",
            "alpha": 0.01,
            "most": 2,
            "rule": "first",
        },
    }
    | {"policy": "contemporaneous_klucb"},
    {
        **PLAIN,
        "channel": {"name": "two_servers", "epsilon": 1, "backend": "prio3"},
        "operators": {
            "leader": {"name": "Clinic", "key": KEY},
            "helper": {"name": "University", "key": OTHER, "address": "https://helper.example"},
        },
    },
    PLAIN
    | {
        "channel": {
            "name": "distributed",
            "epsilon": 0.5,
            "honest": "7/10",
            "backend": {"name": "secagg", "corrupted": 0.1},
        },
        "rounds": {"wait": "1 hour"},
    },
    PLAIN | {"channel": {"name": "distributed", "backend": {"name": "secagg"}}, "rounds": {}, "budget": {"rho": "1/2"}},
]
UNSAYABLE: list[dict[str, Any]] = [
    TABLE,  # whose policy has parameters
    PLAIN | {"channel": "central"},
    PLAIN | {"channel": {"name": "central", "epsilon": 1, "noise": "skellam"}, "budget": {"epsilon": 9, "delta": 1e-6}},
    PLAIN | {"simulation": {"every": "1 minute"}},
    PLAIN | {"metrics": [{"name": "spent", "most": 9, "share": "1/4"}]},
    PLAIN | {"about": " with spaces around "},
    PLAIN | {"about": "a bell \a"},
    PLAIN | {"signed_by": [KEY]},
    PLAIN | {"reward": {}},
    make_protocol().table,  # of sites
]


def digest_by_form(table: dict[str, Any]) -> str:
    """The hash of what the form makes of a table, by way of TOML: form, TOML, form."""
    filled = fill_protocol_form(table)
    assert filled is not None
    sent = read_sent_form({name: value.replace("\n", "\r\n") for name, value in filled.items()})
    assert (sent.faults, list_faults(sent.table)) == ([], [])
    if "null" not in filled.values():  # which TOML has not
        again = read_sent_form({"protocol": write_toml(sent.table), "per_day": "5"})
        assert again.values == filled | {"per_day": "5"}
        assert again.table == sent.table
    return Protocol.from_table(sent.table).digest


@for_each("table", SAYABLE)
def test_what_the_fields_say_is_the_same_protocol(table: dict[str, Any]) -> None:
    assert digest_by_form(table) == Protocol.from_table(table).digest


@for_each("table", UNSAYABLE)
def test_what_the_fields_cannot_say_stays_whole(table: dict[str, Any]) -> None:
    assert fill_protocol_form(table) is None
    sent = read_sent_form({"protocol": write_toml(table), "name": "not this one"})
    assert Protocol.from_table(sent.table).digest == Protocol.from_table(table).digest
    assert tomllib.loads(sent.values["protocol"]) == table


def test_a_form_that_drops_what_it_cannot_say_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(form, "write_comparable", lambda _: "")
    with pytest.raises(AssertionError):
        assert fill_protocol_form(UNSAYABLE[3]) is None


@for_each("path", STUDIES)
def test_the_studies_of_the_package_go_through_the_form(path: Path) -> None:
    table = tomllib.loads(path.read_text())
    assert fill_protocol_form(table) is None  # as they have a [simulation]
    for part in ("simulation", "metrics"):  # which the fields cannot say
        table.pop(part, None)
    assert digest_by_form(table) == Protocol.from_table(table).digest


NUMBERS = st.one_of(
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["1/3", "x", "", "1", "1e400", "nan", "True", True, None]),
)
TEXTS = st.one_of(st.text(max_size=8), st.sampled_from(["first", "6 hours", "central", "two_servers", "response"]))
TREES = st.recursive(NUMBERS | TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=6)


@pytest.mark.slow
@given(
    st.dictionaries(st.sampled_from([*FIELDS, "signed_by"]), NUMBERS | TEXTS | TREES, max_size=8),
    st.lists(st.fixed_dictionaries({"name": TEXTS}, optional={"payload": TREES, "share": NUMBERS}), max_size=4),
)
@settings(max_examples=300, deadline=None)
def test_any_table_is_said_whole_or_not_at_all(given: dict[str, Any], arms: list[dict[str, Any]]) -> None:
    table: dict[str, Any] = {"arms": arms}
    for name, value in given.items():
        try:
            form.put_value(table, name, value)
        except (TypeError, AttributeError):  # the way leads through a value
            continue
    filled = fill_protocol_form(table)
    if filled is not None:
        said, faults = read_protocol_form({name: value.replace("\n", "\r\n") for name, value in filled.items()})
        assert faults == []
        assert form.write_comparable({key: said[key] for key in table}) == form.write_comparable(table)
        assert not any(value for key, value in said.items() if key not in table)


@pytest.mark.slow
@for_each("depth", [50, 300, 400, 600, 900, 5000])
def test_what_is_nested_deeply_is_refused_or_kept(depth: int) -> None:
    for text in (
        f"{'a.' * depth}a = 1",
        f"name = 'x'\narms = [{{ name = 'a', payload = {'[' * depth}{']' * depth} }}]",
    ):
        sent = read_sent_form({"protocol": text})
        assert sent.faults or list_faults(sent.table)
    nested = {"arms.0.name": "a", "arms.0.payload": "[" * depth + "]" * depth}
    sent = read_sent_form(nested)
    assert sent.faults or list_faults(sent.table)


@pytest.mark.slow
@given(st.dictionaries(st.one_of(st.sampled_from([*FIELDS, "file", "protocol", "more_arms"]), st.text()), st.text()))
@settings(max_examples=100, deadline=None)
def test_any_form_is_read(values: dict[str, str]) -> None:
    sent = read_sent_form(values)
    assert sent.faults or list_faults(sent.table)  # by chance nobody writes a whole protocol


@given(st.binary(), st.text())
@settings(max_examples=100, deadline=None)
def test_any_body_of_parts_is_read(body: bytes, boundary: str) -> None:
    read_multipart(f"multipart/form-data; boundary={boundary}", body)


def test_an_empty_form_says_all_that_is_missing() -> None:
    sent = read_sent_form(dict.fromkeys((*FIELDS, "signed_by", "more_arms", "protocol"), ""))
    found = [name_field(place, sent.values) for place, _ in sent.faults + list_faults(sent.table)]
    assert found == ["name", "arms.0.name", "channel.name", "people", "budget.epsilon"]


WRONG = {
    "name": "my study",
    "about": "x" * 1001,
    "project": "no/slash",
    "arms.1.name": "short",
    "arms.2.payload": "{x",
    "people": "many",
    "policy": "ucb2",
    "reward.window": "soon",
    "reward.default": "7",
    "channel.epsilon": "-1",
    "budget.period": "1 minute",
    "guardrail.name": "x y",
    "guardrail.alpha": "2",
    "guardrail.share": "1",
    "guardrail.harm.above": "3",
    "signed_by": "ab",
}


def test_everything_wrong_is_said_at_its_field() -> None:
    sent = read_sent_form(EXAMPLE_FORM | WRONG)
    faults = sent.faults + list_faults(sent.table)
    found = [name_field(place, sent.values) for place, _ in faults]
    assert sorted(found) == sorted(WRONG)
    for place, error in faults:
        if place[0] != "policy":
            assert str(error).startswith(error.name)


@for_each("wrong", [{each: WRONG[each]} for each in WRONG if each != "policy"])
def test_what_is_wrong_alone_is_the_only_thing_said(wrong: dict[str, str]) -> None:
    guarded = {"guardrail.name": "left", "guardrail.harm.above": "0.1"}
    sent = read_sent_form(EXAMPLE_FORM | guarded | wrong)
    faults = sent.faults + list_faults(sent.table)
    assert [name_field(place, sent.values) for place, _ in faults] == list(wrong)
    with pytest.raises(AssertionError):  # of somebody who says nothing
        assert faults == []


@for_each("table", SAYABLE + UNSAYABLE)
def test_nothing_is_wrong_with_what_is_allowed(table: dict[str, Any]) -> None:
    assert list_faults(table) == []


@for_each("table", [{}, {"arms": 7, "guardrail": 3}, {"guardrail": {}, "policy": {"name": 3}}, {"reward": []}])
def test_any_table_has_its_faults(table: Any) -> None:
    assert list_faults(table)


def test_the_interface_says_everything_that_is_wrong_and_the_first_of_it_in_its_detail(service: Inside) -> None:
    table, _ = read_protocol_form(EXAMPLE_FORM | {"name": "my study", "people": "many", "reward.window": "soon"})
    for path in ("/v1/studies/validate", "/v1/studies"):
        said = service.ask("POST", path, table, "owner").json
        assert [each["place"] for each in said["faults"]] == ["name", "reward.window", "people"]
        assert said["detail"] == said["faults"][0]["detail"]
    assert "faults" not in service.ask("POST", "/v1/studies/none/start", None, "owner").json


def test_what_else_is_wrong_is_said_though_there_are_too_few_arms() -> None:
    given = {"guardrail.name": "left", "guardrail.harm.above": "0.1", "guardrail.harm.against": "a"}
    sent = read_sent_form({"arms.0.name": "a", "name": "x", "channel.name": "central", "channel.epsilon": "1"} | given)
    assert [place for place, _ in list_faults(sent.table)] == [("arms",), ("people",)]
    sent = read_sent_form(sent.values | {"guardrail.alpha": "2"})
    assert [place for place, _ in list_faults(sent.table)] == [("arms",), ("guardrail", "alpha"), ("people",)]


def test_every_policy_of_the_form_is_one_of_a_live_study() -> None:
    for each in [each for choices in list_policy_choices().values() for each in choices]:
        trust = "central" if "central" in each.trust or not each.trust else "response"
        many = {"arms.3.name": "a", "arms.4.name": "b", "arms.5.name": "c", "channel.name": trust}
        for aim in ({}, {"people": ""}):
            sent = read_sent_form(EXAMPLE_FORM | many | aim | {"policy": each.name})
            if not (faults := list_faults(sent.table)):
                break
        assert faults == [], each.name
        assert each.about


def test_trust_models_cost_what_the_package_computes() -> None:
    central, response, local, two, devices = list_trust_models(None)
    assert "1.00 times as uncertain as without privacy" in central.cost
    # randomized response: the variance of a bit is divided by (1 - 2 f)^2 = tanh^2(1/2), and is 4.68 times as large
    assert "2.16 times" in response.cost
    assert "2.99 times" in local.cost
    assert "neither alone sees any" in two.sees
    assert "1.00 times" in devices.cost
    protocol = Protocol.from_table(PLAIN | {"channel": {"name": "central", "epsilon": 5}, "budget": {"epsilon": 5}})
    assert "At ε = 5 and 500 people" in list_trust_models(protocol)[1].cost


def send_file(owner: Eyes, path: str, text: bytes, token: str, **more: str) -> Reply:
    """Upload a file, as a browser does."""
    fields = {"csrf": token, "do": "check"} | more
    parts = [f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{each}' for name, each in fields.items()]
    body = "\r\n".join(parts).encode() + b'\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="x.toml"'
    body += b"\r\nContent-Type: application/toml\r\n\r\n" + text + b"\r\n--b--\r\n"
    headers = {"content-type": "multipart/form-data; boundary=b", "host": "bandit", "cookie": owner.cookies}
    return owner.service.ask("POST", path, body, None, headers.items())


@pytest.fixture
def owner(service: Inside) -> Eyes:
    service.begin()
    (eyes := Eyes(service)).sign_in("owner")
    return eyes


def shown(reply: Reply, name: str) -> str:
    """What a page has in a field."""
    text = reply.body.decode()
    found = re.search(rf'name="{name}"[^>]*?value="([^"]*)"', text) or re.search(
        rf'name="{name}"[^>]*>\n([^<]*)<', text
    )
    return html.unescape(found[1]) if found else ""


def test_a_new_form_is_empty_and_an_example_is_filled_in_when_asked_for(owner: Eyes) -> None:
    empty, example = owner.get("/new"), owner.get("/new?example=1")
    assert {shown(empty, name) for name in ("name", "arms.0.name", "people", "per_day")} == {""}
    assert "checked" not in empty.body.decode()
    assert shown(example, "arms.2.payload") == EXAMPLE_FORM["arms.2.payload"]
    assert shown(owner.get("/studies/small/plan"), "per_day") == ""


def test_a_file_fills_the_form(owner: Eyes) -> None:
    token = owner.token("/new")
    taken = send_file(owner, "/studies", b"\xef\xbb\xbf" + write_toml(SAYABLE[1]).encode(), token)
    assert (taken.status, shown(taken, "project"), shown(taken, "protocol")) == (200, "shop", "")
    assert "What it would mean" in taken.body.decode()
    kept = send_file(owner, "/studies", write_toml(UNSAYABLE[3]).encode(), token)
    assert "[simulation]" not in kept.body.decode()
    assert "simulation = { every" in shown(kept, "protocol")
    for wrong, said in ((b"\xff\xfe", "TOML in UTF-8"), (b"name = ", "it must be TOML")):
        refused = send_file(owner, "/studies", wrong, token)
        assert (refused.status, said in refused.body.decode()) == (422, True)
    assert send_file(owner, "/studies", b"", "0" * 32).status == 403
    assert send_file(owner, "/studies", b"#" * 70_000, token).status == 413


def test_rows_are_added_and_lines_become_rows(owner: Eyes) -> None:
    token = owner.token("/new")
    more = owner.post("/studies", csrf=token, do="rows", **{"arms.0.name": "a", "arms.1.name": "", "arms.2.name": "c"})
    text = more.body.decode()
    assert ("Name of arm 8" in text, "Name of arm 9" in text, "put right" in text) == (True, False, False)
    assert (shown(more, "arms.0.name"), shown(more, "arms.1.name")) == ("a", "c")
    lines = "\n".join(f'x{number} {{"n": {number}}}' for number in range(40))
    many = owner.post("/studies", csrf=token, do="create", **EXAMPLE_FORM | {"name": "many", "more_arms": lines})
    assert many.headers["location"] == "/studies/many"
    table = owner.service.ask("GET", "/v1/studies/many/protocol", key="owner").json
    assert [len(table["arms"]), table["arms"][42]] == [43, {"name": "x39", "payload": {"n": 39}}]


def test_a_draft_is_changed_by_its_fields_and_copied_with_them(owner: Eyes) -> None:
    ask = owner.service.ask
    ask("POST", "/v1/studies", SAYABLE[12] | {"name": "fresh"}, "owner")
    page = owner.get("/studies/fresh/draft")
    assert (shown(page, "guardrail.harm.against"), '<details id="guardrail" open' in page.body.decode()) == ("b", True)
    values = (fill_protocol_form(SAYABLE[12]) or {}) | {"name": "fresh", "people": "500"}
    looked_at, token = field(page.body.decode(), "looked_at"), owner.token("/new")
    meant = owner.post("/studies/fresh/draft", csrf=token, do="check", looked_at=looked_at, **values)
    assert (field(meant.body.decode(), "looked_at"), "people = 500" in meant.body.decode()) == (looked_at, True)
    assert ask("GET", "/v1/studies/fresh", key="owner").json["of"] == 1000  # nothing was written
    renamed = owner.post(
        "/studies/fresh/draft", csrf=token, do="change", looked_at=looked_at, **values | {"name": "other"}
    )
    assert (renamed.status, 'href="#name">name is' in renamed.body.decode()) == (422, True)
    changed = owner.post("/studies/fresh/draft", csrf=token, do="change", looked_at=looked_at, **values)
    assert changed.headers["location"] == "/studies/fresh"
    assert ask("GET", "/v1/studies/fresh/protocol", key="owner").json == SAYABLE[12] | {"name": "fresh", "people": 500}
    again = owner.post("/studies/fresh/draft", csrf=token, do="change", looked_at=looked_at, **values)
    assert (again.status, "look at it again" in again.body.decode()) == (409, True)
    assert shown(owner.get("/studies/fresh/copy"), "name") == "fresh-copy"


def test_a_draft_that_no_form_can_say_is_deleted_on_its_page(owner: Eyes) -> None:
    table = TABLE | {"name": "null", "arms": [{"name": "a", "payload": None}, {"name": "b"}]}
    assert owner.service.ask("POST", "/v1/studies", table, "owner").status == 201
    for path in ("copy", "draft"):
        page = owner.get(f"/studies/null/{path}")
        assert (page.status, "without null, to be written as TOML" in page.body.decode()) == (200, True)
    sent = {name: field(page.body.decode(), name) for name in ("csrf", "looked_at")}
    assert owner.post("/studies/null/draft", **sent, do="change").status == 422
    assert owner.post("/studies/null/draft", **sent, do="delete").status == 303
    assert owner.service.ask("GET", "/v1/studies/null", None, "owner").status == 404


def test_nothing_of_a_protocol_is_hidden_from_whoever_approves_it() -> None:
    """Characters that turn a text around, or that nobody sees, are written as numbers, and read as they were."""
    table = {"name": "x", "arms": [{"name": "a", "payload": {"price\u200b": "\u202e01 \u2066é\U0001f600\x7f\u2028"}}]}
    text = write_toml(table)
    assert text.replace("\n", "").isprintable()
    assert "é\U0001f600" in text
    assert tomllib.loads(text) == table


def test_a_protocol_is_downloaded_as_toml(owner: Eyes) -> None:
    found = owner.get("/studies/small/protocol.toml")
    assert found.headers["content-disposition"] == 'attachment; filename="small.toml"'
    table = owner.service.ask("GET", "/v1/studies/small/protocol", key="owner").json
    assert Protocol.from_table(tomllib.loads(found.body.decode())).digest == Protocol.from_table(table).digest
    assert 'href="/studies/small/protocol.toml"' in owner.get("/studies/small").body.decode()
    assert Eyes(owner.service).get("/studies/small/protocol.toml").status == 303  # who has not signed in


@pytest.mark.slow
def test_a_draft_of_sites_stays_toml_and_says_what_it_means(owner: Eyes) -> None:
    """Its fields are those of no form; what it would bring is said as of any other."""
    protocol = make_protocol()
    page = send_file(owner, "/studies", write_toml(protocol.table).encode(), owner.token("/new"))
    assert "Its sites" in page.body.decode()
    assert "could lose ε = 1.858" in page.body.decode()
    assert tomllib.loads(shown(page, "protocol")) == protocol.table
    found = forecast.foreseen(protocol, 0.3, 0.4, 1000)
    assert "people a day" in dict(forecast.in_words(protocol, found, 1000, datetime(2026, 1, 30, tzinfo=UTC)))["Finish"]
