"""Results say on one line what came out; their arrays, of a million numbers here, are not printed."""

from dataclasses import fields

import numpy as np

import maskedbandit as mb
from maskedbandit.lab.goals.identify.identify import Found
from maskedbandit.lab.goals.regret.simulate import ContextualRun, Run
from maskedbandit.lab.goals.replay.replayed import ReplayedContexts
from tests.for_each import for_each

MILLION = np.arange(1_000_000)
TABLE = MILLION[None].astype(float)
COMMON = {"channel": mb.channels.Central(epsilon=0.5), "releases": MILLION, "loss": mb.Loss.pure("0.5"), "findings": {}}
SERVED = {"horizon": 10**9, "t": MILLION, "regret": TABLE, "pulls": TABLE.astype(int)}
SEARCHED = {"delta": 0.1, "max_pulls": 10**9, "samples": MILLION, "answer": MILLION, "correct": MILLION > 0}
ESTIMATES = ("matched", "weighted", "weighted_error", "normalised", "normalised_error", "random", "reward", "t")
ARMS = mb.Bernoulli([0.9, 0.8])

RESULTS = {
    "<Run: UCB1, Central, 1 run, mean regret 999,999.0, ε = 0.5>": Run(
        policy=mb.policies.UCB1(), instance=ARMS, realised_regret=TABLE, **COMMON, **SERVED
    ),
    "<ContextualRun: LinUCB, Central, 1 run, mean regret 999,999.0, ε = 0.5>": ContextualRun(
        policy=mb.policies.LinUCB(), instance=mb.LinearContexts(), reward=TABLE, **COMMON, **SERVED
    ),
    "<Found: TTUCB, Central, 1,000,000 runs, mean samples 499,999.5, ε = 0.5>": Found(
        policy=mb.policies.TTUCB(), instance=ARMS, stopped=MILLION >= 0, pulls=TABLE, **COMMON, **SEARCHED
    ),
    "<Found: TTUCB, Central, 1,000,000 runs, mean samples at least 499,999.5 (999,999 stopped), ε = 0.5>": Found(
        policy=mb.policies.TTUCB(), instance=ARMS, stopped=MILLION > 0, pulls=TABLE, **COMMON, **SEARCHED
    ),
    "<ReplayedContexts: LinUCB, Central, 1,000,000 runs, mean click rate 0.2500, ε = 0.5>": ReplayedContexts(
        policy=mb.policies.LinUCB(),
        log=mb.Newsroom(events=10),
        users=MILLION + 1,
        clicks=(MILLION + 1) / 4,
        pulls=TABLE,
        **COMMON,
        **dict.fromkeys(ESTIMATES, MILLION),
    ),
}


@for_each(("text", "result"), RESULTS.items())
def test_a_result_says_on_one_line_what_came_out(text, result) -> None:
    assert repr(result) == str(result) == text


@for_each("result", RESULTS.values())
def test_a_notebook_shows_a_table_of_one_line(result) -> None:
    shown = result._repr_html_()
    assert shown.startswith(f"<table><caption>{result.title()}</caption>")
    assert shown.count("<tr>") == 2
    assert f"<td>{type(result.policy).__name__}</td><td>Central</td>" in shown


def test_every_result_has_arrays_that_would_fill_pages() -> None:
    """Negative control: the arrays are there, so that a repr of all fields would show them."""
    for result in RESULTS.values():
        shown = [repr(getattr(result, field.name)) for field in fields(result)]
        assert sum(each.startswith("array(") for each in shown) > 3
