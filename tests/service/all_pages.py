"""All pages, of studies of all kinds and at all stages."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, get_args

from msgspec.structs import replace

from maskedbandit.errors import StorageFailed
from maskedbandit.service.keys import Key
from maskedbandit.service.page.drafts import Preview, fill_form
from maskedbandit.service.page.form import EXAMPLE_FORM, FIELDS, PLANNED_NUMBERS, read_protocol_form, read_sent_form
from maskedbandit.service.page.glossary import OWN_WORDS, WORDS_OF_OTHERS
from maskedbandit.service.page.keys import ROLE_CHOICES
from maskedbandit.service.page.sentences import say_preview
from maskedbandit.service.page.study_list import choose_studies
from maskedbandit.service.page.visit import render_page
from maskedbandit.service.page.webhooks import SAID_KINDS
from maskedbandit.service.request.problems import describe_problem
from maskedbandit.service.study_messages import AttentionItem, AttentionKind
from maskedbandit.service.views.counts import CohortStanding
from maskedbandit.service.views.estimates import Estimate
from maskedbandit.service.views.moves import ask_move
from maskedbandit.service.views.summaries import StudySummary
from maskedbandit.service.views.view import StudyView, read_view
from maskedbandit.service.webhook_messages import WebhookListed
from maskedbandit.service.webhooks import WEBHOOK_KINDS
from maskedbandit.statement.page import fill_statement
from maskedbandit.store.approvals import Approvals
from maskedbandit.store.book.finish import Finish
from maskedbandit.study.faults import list_faults
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.toml_text import write_toml
from maskedbandit.theory.sequences import Interval
from tests.service.all_site_pages import site_pages, with_sites
from tests.service.played import HOUR, MINUTE, START, Played, quick_folder

HOSTILE = "<script>alert(1)</script>\"' onload=x <img src=x onerror=y> {{ 7*7 }} &lt;"
ALL_ITEMS = tuple(
    AttentionItem(kind, f"{HOSTILE} {kind}.", "Do something.", HOSTILE if i % 2 else None, START if i % 3 else None)
    for i, kind in enumerate(get_args(AttentionKind))
)
OWNER, OFFICER, READER = "owner", "officer", None


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


def with_harm(view: StudyView) -> StudyView:
    """The same study when the first arm was paused, and the second one, of the highest mean, was found harmful."""
    paused, harmful, *others = view.arms
    assert paused.estimate is not None
    high = replace(paused.estimate, mean=0.9)
    standing = dataclasses.replace(
        view.standing, in_play=(2,), paused=frozenset({0}), harmful=frozenset({1}), stage=view.standing.stage + 1
    )
    arms = (
        replace(paused, stands="paused", confidence=None),
        replace(harmful, stands="harmful", confidence=None, estimate=high),
        *(replace(each, confidence=None) for each in others),
    )
    return replace(view, arms=arms, standing=standing, attention=say_harm(view, 1))


def say_harm(view: StudyView, *arms: int) -> tuple[AttentionItem, ...]:
    """What the page says at its top of arms that were found harmful."""
    says = "{} was found to do harm. It is out of play for good: nobody else is given it."
    advice = (
        "People who had {} before keep it: have the application show them another arm, and look for what does the harm."
    )
    names = [view.arms[arm].name for arm in arms]
    return tuple(AttentionItem("harmful_arm", says.format(n), advice.format(n), n, view.now) for n in names)


def with_all_harmful(view: StudyView) -> StudyView:
    """The same study when all its arms were found harmful, the last one at last: nobody is given a place any more."""
    arms = tuple(replace(each, stands="harmful", confidence=None) for each in view.arms)
    standing = dataclasses.replace(view.standing, in_play=(2,), harmful=frozenset({0, 1, 2}), stage=3)
    return replace(
        view,
        arms=arms,
        standing=standing,
        finish=Finish("all_arms_harmful", view.now),
        attention=say_harm(view, 0, 1, 2),
    )


def with_many_arms(view: StudyView, k: int) -> StudyView:
    """The same study with so many arms, whose names are as long as they may be."""
    names = [f"{'W' * 12 if i % 2 else 'a-name-with-joints'}-{i:03}-".ljust(64, "m-"[i % 3 == 0]) for i in range(k)]
    some = [view.arms[i % len(view.arms)] for i in range(k)]
    out = {1: "harmful", k - 1: "paused"}
    arms = tuple(
        replace(
            each,
            name=name,
            payload='{"text": "' + 100 * "x" + '"}',
            stands=out.get(i, "in play"),
            confidence=None if i in out else each.confidence,
        )
        for i, (each, name) in enumerate(zip(some, names, strict=True))
    )
    in_play = tuple(i for i in range(k) if i not in out)
    standing = dataclasses.replace(
        view.standing, k=k, in_play=in_play, paused=frozenset({k - 1}), harmful=frozenset({1})
    )
    table = view.protocol.table | {"arms": [{"name": name} for name in names]}

    def spread(numbers: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(numbers[i % len(numbers)] for i in range(k))

    counts = replace(
        view.counts,
        dealt=spread(view.counts.dealt),
        seen=spread(view.counts.seen),
        returned=spread(view.counts.returned),
        columns=tuple(replace(each, arms=spread(each.arms)) for each in view.counts.columns),
    )
    return replace(view, protocol=Protocol.from_table(table), arms=arms, standing=standing, counts=counts)


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
        found["sites"] = with_sites(found["running"])
        found["harmful"] = with_harm(found["running"])
        found["all harmful"] = with_all_harmful(found["running"])
        found["forty"] = with_many_arms(found["running"], 40)
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
        many = play(
            "many",
            arms=[{"name": f"arm{i}", "payload": HOSTILE} for i in range(12)],
            about=HOSTILE,
            enrolment={"eligible": {"x": HOSTILE}},
        )
        many.study.start()
        many.said = {"x": HOSTILE}
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
        held = play("held", arms=[{"name": "short"}, {"name": "plain", "share": "1/3"}, {"name": "long"}], **quick)
        held.study.start()
        found["held, early"] = seen(held)
        for _ in range(4):
            held.come(100, [0.5, 0.3, 0.9], every=1, unseen=0, lost=0)
            held.wait(3 * MINUTE)
        found["held"] = seen(held)
        yield found
        for each in (usual, ended, many, made, selected, fixed, made_gauss, held, measured):
            each.study.close()


def all_pages(views: dict[str, StudyView]) -> dict[str, str]:
    """By the name of the page."""
    found = {f"study, {name}": render_page("study", OWNER, "token", view=each) for name, each in views.items()}
    found["study, nobody"] = render_page("study", READER, "", view=views["running"])
    found["ledger, notice"] = render_page("ledger", OFFICER, "token", view=views["running"], notice=HOSTILE)
    attention = replace(views["running"], attention=ALL_ITEMS)
    found["study, attention"] = render_page("study", OFFICER, "token", view=attention)
    for name in ("usual draft", "stopped", "many", "gauss", "answer", "selected", "fixed"):
        found[f"ledger, {name}"] = render_page("ledger", OFFICER, "token", view=views[name], notice="It holds.")
        found[f"statement, {name}"] = render_page(
            "statement", OFFICER, "token", **fill_statement(views[name].statement)
        )
    listed = [
        StudySummary(each.name, each.protocol.table["about"], each.state, each.simulated, 3, None, 1, each.started)
        for each in views.values()
    ]
    listed += [
        replace(listed[1], name=f"{i:064}", answer="short", latest=START, finished=START + HOUR) for i in range(3)
    ]
    found["list"] = render_page("list", OWNER, "token", **choose_studies(listed))
    found["list, searched"] = render_page("list", OWNER, "token", **choose_studies(listed, HOSTILE, "running"))
    found["list, empty"] = render_page("list", READER, "", **choose_studies([]))
    words = {"own_words": OWN_WORDS, "words_of_others": WORDS_OF_OTHERS}
    found["glossary"] = render_page("glossary", READER, "", **words)
    found |= form_pages()
    found |= site_pages(HOSTILE)
    found["person"] = render_page("person", READER, "")
    key = Key("3f2a9c01", "device", "usual", "", START, None, ("https://shop.example", HOSTILE))
    client = key._replace(key="3f2a9c03", role="client", origins=(), last_used="2026-11-26")
    old = key._replace(key="3f2a9c02", ends=START + 2 * HOUR, origins=())
    shown: dict[str, Any] = {"study": "usual", "listed": [key, client], "ended": [old], "own": "3f2a9c03"}
    shown |= {"studies": ["usual"], "roles": ROLE_CHOICES, "values": {}}
    found["keys"] = render_page("keys", OWNER, "token", **shown, notice="mb_device_3f2a9c01_secret")
    wrong = shown | {"values": {"origins": HOSTILE, "role": HOSTILE}, "study": None}
    found["keys, wrong"] = render_page("keys", OWNER, "token", **wrong, problem=HOSTILE)
    found["keys, none"] = render_page("keys", OWNER, "token", **shown | {"listed": [], "ended": []})
    hook = WebhookListed(
        "0" * 16, f"https://hooks.example/{HOSTILE}", None, WEBHOOK_KINDS, START, START, 2, START, HOSTILE, 3
    )
    quiet = WebhookListed("1" * 16, "https://hooks.example", "usual", ("released",), START, None, 0, None, "", 0)
    hooks: dict[str, Any] = {"listed": [hook, quiet], "studies": ["usual"], "kinds": SAID_KINDS, "values": {}}
    found["webhooks"] = render_page("webhooks", OWNER, "token", **hooks, notice="whsec_secret")
    given = {"url": HOSTILE, "study": HOSTILE}
    found["webhooks, wrong"] = render_page("webhooks", OWNER, "token", **hooks | {"values": given}, problem=HOSTILE)
    found["webhooks, none"] = render_page("webhooks", OWNER, "token", **hooks | {"listed": []})
    found["revoke"] = render_page("revoke_key", OWNER, "token", study=None, key=key, own=True)
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
    parts = [part, part | {"part": "the release of a cohort of 40"}, {"left_out": HOSTILE}]
    found["audit"] = render_page("audit", OFFICER, "token", view=views["running"], parts=parts)
    found["audit, wrong"] = render_page("audit", OFFICER, "token", view=views["many"], parts=[], problem=HOSTILE)
    unapproved = replace(views["usual draft"], approvals=Approvals(True, ("3f2a9c01",)))
    found["study, unapproved"] = render_page("study", OWNER, "token", view=unapproved)
    approved = replace(unapproved, approvals=Approvals(True, ("3f2a9c01",), ("3f2a9c01",)))
    found["study, approved"] = render_page("study", OFFICER, "token", view=approved)
    asked = {"unapproved": (unapproved, "start"), "start": (approved, "start"), "approve": (unapproved, "approve")}
    asked |= {"stop": (views["running"], "stop"), "archive": (views["stopped"], "archive")}
    asked |= {"stop first": (views["ended"], "archive"), "waiting": (views["stopped, waiting"], "archive")}
    for name, (view, verb) in asked.items():
        shown = {"verb": verb, "question": ask_move(view, verb), "protocol": HOSTILE if view.state == "draft" else ""}
        found[f"question, {name}"] = render_page("question", OWNER, "token", view=view, **shown)
    failing = describe_problem(StorageFailed("the disk is full"))
    found["failing database"] = render_page("problem", OWNER, "token", title=failing.title, detail=failing.detail)
    found["problem"] = render_page("problem", OWNER, "token", title=HOSTILE, detail=HOSTILE)
    return found


def form_pages() -> dict[str, str]:
    """The form of a study: empty, filled in, with everything wrong, with many arms, as TOML, and of a draft."""
    example = Protocol.from_table(read_protocol_form(EXAMPLE_FORM)[0])
    preview = Preview(say_preview(example), write_toml(example.table))
    hostile = dict.fromkeys((*FIELDS, *PLANNED_NUMBERS, "signed_by", "arms.0.name", "arms.0.payload"), HOSTILE)
    many = {"more_arms": "\n".join(f'a-long-name-of-an-arm-number-{arm} {{"template": {arm}}}' for arm in range(40))}
    given: dict[str, tuple[Any, ...]] = {
        "new": ("", {}, []),
        "new, filled": ("", EXAMPLE_FORM, [], example, preview),
        "draft": ("usual", EXAMPLE_FORM | {"looked_at": HOSTILE}, [], example, preview),
    }
    for name, values in {
        "new, nothing": {},
        "new, wrong": hostile,
        "new, many arms": many,
        "new, other TOML": {"protocol": f"name = 'x'\n[enrolment]\ndefault = {HOSTILE!r}"},
        "new, no TOML": {"protocol": HOSTILE},
    }.items():
        sent = read_sent_form(values)
        given[name] = ("", sent.values, sent.faults + ([] if sent.table is None else list_faults(sent.table)))
    return {name: render_page("new", OWNER, "token", **fill_form(*each)) for name, each in given.items()}


def render_study(view: StudyView, role: str | None, csrf: str) -> list[str]:
    """The pages of a study: itself, its ledger, and its statement."""
    found = [render_page(name, role, csrf, view=view) for name in ("study", "ledger")]
    return [*found, render_page("statement", role, csrf, **fill_statement(view.statement))]
