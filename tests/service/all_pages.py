"""All pages, of studies of all kinds and at all stages."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from maskedbandit.service.keys import Key
from maskedbandit.service.page.form import EXAMPLE_FORM, read_protocol_form
from maskedbandit.service.page.sentences import say_preview
from maskedbandit.service.page.visit import render_page
from maskedbandit.service.views.counts import CohortStanding
from maskedbandit.service.views.estimates import Estimate
from maskedbandit.service.views.view import StudySummary, StudyView, read_view
from maskedbandit.statement.page import fill_statement
from maskedbandit.study.protocol import Protocol
from maskedbandit.theory.sequences import Interval
from tests.service.played import HOUR, MINUTE, Played, quick_folder

OWNER, OFFICER, READER = "owner", "officer", None
HOSTILE = "<script>alert(1)</script>\"' onload=x <img src=x onerror=y> {{ 7*7 }} &lt;"


def seen(played: Played) -> StudyView:
    """What may be shown of a study."""
    return read_view(played.database, played.witness(), played.protocol.name, played.now)


def answered(played: Played) -> StudyView:
    """What is shown of a study that has just had its answer, the first and the last of three arms."""
    played.study.start()
    for _ in range(20):
        played.come(20, [0.9, 0.0, 1.0], every=1, unseen=0, lost=0)
        played.wait(3 * MINUTE)
        if played.study.named is not None:
            break
    return seen(played)


@contextmanager
def all_views() -> Iterator[dict[str, StudyView]]:
    """By the name of the stage."""
    found: dict[str, StudyView] = {}
    with quick_folder() as folder:

        def play(name, **protocol):
            made = Played(folder / name, **protocol)
            found[f"{name} draft"] = seen(made)
            return made

        usual = play("usual", project="letters")
        usual.study.start(simulated=True)
        found["started"] = seen(usual)
        usual.come(20, [0.5, 0.6, 0.45])
        found["early"] = seen(usual)
        usual.come(300, [0.5, 0.6, 0.45])
        found["running"] = seen(usual)
        below = Estimate(100, 2, -0.1, 0.1, Interval(0.0, 0.05), Interval(0.0, 0.1))
        first, *others = found["running"].arms
        found["negative"] = replace(found["running"], arms=(replace(first, estimate=below), *others))
        usual.study.pause()
        found["paused"] = seen(usual)
        usual.study.resume()
        usual.study.stop()
        stopped, full = (
            seen(usual),
            CohortStanding(99, arm=0, size=5, dealt=5, seen=5, state="waiting", deadline=usual.now),
        )
        full = replace(stopped.counts, cohorts=(*stopped.counts.cohorts, full))
        found["stopped, waiting"] = replace(stopped, counts=full)
        usual.wait(3 * HOUR)
        found["stopped"] = seen(usual)
        usual.study.archive()
        found["archived"] = seen(usual)
        ended = play("ended", people=60, policy="ucb1")
        ended.study.start()
        ended.come(60, [0.5, 0.6, 0.45], unseen=0)
        ended.wait(3 * HOUR)
        found["ended"] = seen(ended)
        many = play("many", arms=[{"name": f"arm{i}", "payload": HOSTILE} for i in range(12)], about=HOSTILE)
        many.study.start()
        many.come(14, [0.5] * 12)
        found["many"] = seen(many)
        search = {"policy": "contemporaneous_elimination", "people": None, "delta": 0.2}
        local = {"channel": {"name": "response", "epsilon": 2}, "budget": {"epsilon": 2, "delta": 1e-6}}
        made = play("search", **search, **local, reward={"rule": "first", "window": "1 minute"})
        made.study.start()
        made.come(200, [0.1, 0.1, 1.0], lost=0)
        found["search"] = seen(made)
        counts = replace(found["search"].counts, served=2, answer=2)
        found["answer"] = replace(found["search"], counts=counts, named=(2,))
        quick = {"channel": {"name": "central", "epsilon": 8}, "budget": {"epsilon": 8}}
        quick["reward"] = {"window": "1 minute", "exposure": "0 seconds"}
        selected = play("selected", **search | {"policy": {"name": "top_arms", "m": 2}, "delta": 0.4}, **quick)
        found["selected"] = answered(selected)
        found["none"] = replace(found["selected"], named=())
        fixed = play("fixed", people=60, policy="pooled_elimination", **quick)
        found["fixed"] = answered(fixed)
        gauss = {"channel": {"name": "central", "epsilon": 0.5, "noise": "discrete_gaussian"}, "budget": {"rho": 0.2}}
        made_gauss = play("gauss", **gauss)
        made_gauss.study.start()
        made_gauss.come(60, [0.5, 0.6, 0.45], every=1000)
        found["gauss"] = seen(made_gauss)
        metrics = [{"name": "spent", "most": 80, "share": "1/8"}, {"name": "left-early", "share": "1/8"}]
        measured = play("measured", metrics=metrics, **quick)
        measured.study.start()
        measured.come(200, [0.5, 0.6, 0.45], unseen=0)
        measured.wait(3 * HOUR)
        found["measured"] = seen(measured)
        yield found
        for each in (measured, usual, ended, many, made, selected, fixed, made_gauss):
            each.study.close()


def all_pages(views: dict[str, StudyView]) -> dict[str, str]:
    """By the name of the page."""
    found = {f"study, {name}": render_page("study", OWNER, "token", view=each) for name, each in views.items()}
    found["study, nobody"] = render_page("study", READER, "", view=views["running"])
    found["ledger, notice"] = render_page("ledger", OFFICER, "token", view=views["running"], notice=HOSTILE)
    wasted = replace(views["running"], counts=replace(views["running"].counts, wasted=37))
    found["study, places wasted"] = render_page("study", OFFICER, "token", view=wasted)
    for name in ("usual draft", "stopped", "many", "gauss", "answer", "selected", "fixed"):
        found[f"ledger, {name}"] = render_page("ledger", OFFICER, "token", view=views[name], notice="It holds.")
        found[f"statement, {name}"] = render_page(
            "statement", OFFICER, "token", **fill_statement(views[name].statement)
        )
    listed = [
        StudySummary(each.name, each.protocol.table["about"], each.state, each.simulated, 3, None, 1)
        for each in views.values()
    ]
    found["list"] = render_page("list", OWNER, "token", studies=listed)
    found["list, empty"] = render_page("list", READER, "", studies=[])
    meant = say_preview(Protocol.from_table(read_protocol_form(EXAMPLE_FORM)))
    found["new"] = render_page("new", OWNER, "token", values=EXAMPLE_FORM, problems=[], preview=meant)
    values = dict.fromkeys(EXAMPLE_FORM, HOSTILE) | {"protocol": HOSTILE}
    found["new, wrong"] = render_page("new", OWNER, "token", values=values, problems=[HOSTILE], preview=[])
    values = {"protocol": HOSTILE, "looked_at": HOSTILE} | dict.fromkeys(("per_day", "baseline", "difference"), HOSTILE)
    found["draft"] = render_page("draft", OWNER, "token", study="usual", values=values, preview=meant, problem=HOSTILE)
    found["person"] = render_page("person", READER, "")
    key = Key("3f2a9c01", "device", "usual", "", HOUR, None, ("https://shop.example", HOSTILE))
    shown = {"study": "usual", "listed": [key, key._replace(key="3f2a9c02", ends=2 * HOUR, origins=())]}
    found["keys"] = render_page("device_keys", OWNER, "token", **shown, values={}, notice="mb_device_3f2a9c01_secret")
    found["keys, wrong"] = render_page(
        "device_keys", OWNER, "token", **shown, values={"origins": HOSTILE}, problem=HOSTILE
    )
    found["keys, none"] = render_page("device_keys", OWNER, "token", study="usual", listed=[], values={})
    found["sign in"] = render_page("sign_in", OWNER, "token")
    found["sign in, wrong"] = render_page("sign_in", OWNER, "token", problem=HOSTILE)
    numbers = {"baseline": "0.4", "difference": "0.05", "per_day": "2000"}
    rows = [[each, "20 000", "20.0"] for each in ("central", "local")]
    plan = {"head": ["Trust", "People", "Days"], "rows": rows, "about": "100 simulated studies for each trust model."}
    nothing = {"head": [], "rows": [], "about": ""}
    found["plan"] = render_page("trust_plan", OWNER, "token", view=views["running"], values=numbers, **plan)
    wrong: Any = {"view": views["many"], "values": dict.fromkeys(numbers, HOSTILE), "problem": HOSTILE}
    found["plan, wrong"] = render_page("trust_plan", OFFICER, "token", **wrong, **nothing)
    part = {
        "part": "the release of a cohort of 4",
        "promised": {"epsilon": 1.0, "delta": 1e-6},
        "lower_bound": 0.7,
        "violation": False,
        "controls": [{"twin": HOSTILE, "lower_bound": None, "caught": True}],
    }
    parts = [part, part, {"left_out": HOSTILE}]
    found["audit"] = render_page("audit", OFFICER, "token", view=views["running"], parts=parts)
    found["audit, wrong"] = render_page("audit", OFFICER, "token", view=views["many"], parts=[], problem=HOSTILE)
    found["problem"] = render_page("problem", OWNER, "token", title=HOSTILE, detail=HOSTILE)
    return found


def render_study(view: StudyView, role: str | None, csrf: str) -> list[str]:
    """The pages of a study: itself, its ledger, and its statement."""
    found = [render_page(name, role, csrf, view=view) for name in ("study", "ledger")]
    return [*found, render_page("statement", role, csrf, **fill_statement(view.statement))]
