"""Experiments: settings as data. A TOML file names what is compared and what varies; each combination is a setting.

    about = "what the experiment shows"
    source = "[CZ23, Fig. 2]"
    horizon = 1_000_000
    runs = 20
    seed = 7
    instance = { name = "clipped_gaussian", means = "easy", k = 10, sd = 0.1 }
    policy = "successive_elimination"

    [[curves]]                            # a curve may set policy, channel, instance, horizon and runs for itself
    label = "distributed"
    channel = { name = "distributed", noise = "skellam" }

    [[curves]]
    label = "lower bound"
    theory = "central"                    # a curve of theory instead of a policy: a name from maskedbandit.theory

    [vary]                                # every curve that has such a parameter takes every value
    "channel.epsilon" = [0.1, 0.5, 1.0]
    "instance.seed" = [0, 1, 2]
    horizon = [100_000, 1_000_000]

`figure` chooses the figure: "regret" against users (the default), its time "average", the "value" of other columns of
the table (`value = "name"`, a list of names, or a table `"what to call it" = "name"`), as a "league" table, or at the
horizon against a delay or a number of the instance that is "varied".

With `goal = "replay"` the instance is a log, such as `{ name = "newsroom", events = 1_000_000 }`, and contextual
policies see `context`, "user" (the default) or "product". The figure shows click rates by "delays" (the default), or
against "privacy".

With `goal = "identify"` policies search for the best arm until they stop, and `delta` and `max_pulls` stand where
`horizon` stands above: in the file, in a curve or below [vary]. The figure shows "samples" against what varies (the
default), or the "cost", which is their mean over the lower bound; `caption` is the text below it. A curve may be what
others found: `published = { NAME = [[epsilon, samples], ...] }`, with the NAMEs of instance.means.

With `goal = "select"` policies search for all arms of a kind; all else is as for "identify", but no curve is theory or
published. The policy says which arms: `{ name = "top_arms", m = 3 }` or `{ name = "arms_above", theta = 0.5 }`.

With `goal = "answer"` policies name the best arm after at most `horizon` users. The figure shows the share of wrong
answers against users (`figure = "wrong"`), with a `caption`; a curve of theory is what no policy is below.

A policy, channel, noise, backend, instance or delay of your own is named by its module and class:
`policy = "package.module:Class"`, or `policy = { name = "package.module:Class", parameter = 3 }`.

A channel's sums are ideal and drawn at once, or carried by a real protocol with all its parties, which takes its time:
`channel = { name = "distributed", backend = { name = "secagg", dropout = 0.05 } }`.

Rewards may be late: `delay = 100` rounds, or `delay = { name = "geometric", mean = 100 }`, in the file, in a curve or
below [vary]. Delays that were measured are `{ name = "recorded", file = "PATH" }`, one number in each line. Some may
never come: `delay = { name = "lost", delay = 100, share = 0.03, deadline = 500 }`.

Means may drift: `instance = { name = "drifting", instance = { name = "bernoulli", means = "C1" }, amplitude = 0.1 }`.

Settings have ids, `name/0`, `name/1`, ... in the order of curves, then of values; an id names its random streams too.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskedbandit import theory
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.experiments.names import PARTS, TABLES
from maskedbandit.lab.goals import find_goal, list_goals
from maskedbandit.lab.goals.drive import check_arms
from maskedbandit.lab.goals.goal import Goal, Labels, Shown
from maskedbandit.lab.goals.setting import PublishedPoint, Setting, TheoryCurve
from maskedbandit.lab.rehearsal.rehearse import refuse_unrehearsed
from maskedbandit.privacy.exact import to_fraction, to_whole
from maskedbandit.study.naming import expand_table, refuse_twice, refuse_unknown

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

CURVE = ("label", "theory", "runs", "delay", *PARTS)
FILE = ("about", "source", "goal", "figure", "runs", "seed", "delay", *PARTS, "curves", "vary")


@dataclass(frozen=True)
class Experiment:
    """A file of settings, read and checked as a whole before anything runs."""

    name: str
    about: str
    source: str
    text: str
    settings: list[Setting | TheoryCurve | PublishedPoint]
    goal: Goal
    shown: Shown
    figure: str
    value: dict[str, str] = field(default_factory=dict)  # columns that the figure shows, by what it calls them
    caption: str = ""
    protocol: str = ""  # replaces the backends in the file, see protocol_option.py

    def draw(self, table: pl.DataFrame) -> Figure:
        """The figure that the experiment asks for."""
        return self.shown.figures[self.figure](table, Labels(self.about, self.caption, self.value))


def read_experiment(path: Path) -> Experiment:
    """The experiment in a TOML file."""
    try:
        text = path.read_text()
        return expand_settings(path.stem, text, tomllib.loads(text))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as wrong:
        raise InvalidValue("experiment", str(path), f"a TOML file that can be read ({wrong})") from None
    except RecursionError:
        raise InvalidValue("experiment", str(path), "a TOML file without lists in lists by the thousand") from None
    except InvalidValue as wrong:
        wrong.args = (f"{path}: {wrong}",)
        raise


def expand_settings(name: str, text: str, data: dict[str, Any]) -> Experiment:
    """All settings: every curve with every combination of the values that it takes."""
    goal = find_goal(data.get("goal", "regret"))
    refuse_keys("key", data, (*FILE, *goal.asks, *goal.options), goal)
    given = data.get("curves")
    if not isinstance(given, list) or not given:
        raise InvalidValue("curves", given, "at least one [[curves]] table")
    for curve in given:
        if not isinstance(curve, dict):
            raise InvalidValue("curves", given, "at least one [[curves]] table")
        if "published" in curve and goal.publishes:
            refuse_unknown("key of [[curves]] with published", curve, ("label", "published"))
        else:
            refuse_keys("key of [[curves]]", curve, (*CURVE, *goal.asks), goal)
    curves = [{**data, **curve} for curve in given]
    for curve, own in zip(curves, given, strict=True):
        if "theory" in curve:
            if "policy" in own:
                raise InvalidValue("policy", own["policy"], "left out of a curve of theory")
            if not goal.theories:
                raise InvalidValue("theory", curve["theory"], f"left out: there is none for goal = {goal.name!r}")
            refuse_unknown("theory", [str(curve["theory"])], goal.theories)
    labels = [label_of(curve) for curve in curves]
    for label in labels:
        if labels.count(label) > 1:
            raise InvalidValue("label", label, "another for each curve, or their runs would be mixed")
    vary: Any = data.get("vary", {})
    if not isinstance(vary, dict):
        raise InvalidValue("vary", vary, "a table of lists")
    for key, values in vary.items():
        part, _, parameter = key.partition(".")
        if (part not in PARTS and key not in (*goal.asks, "delay")) or not isinstance(values, list) or not values:
            allowed = ", ".join([*goal.asks, "policy.NAME, channel.NAME, instance.NAME or delay"])
            raise InvalidValue(f"vary.{key}", values, f"a list, for {allowed}")
        refuse_twice(f"vary.{key}", [str(TABLES.made("delay", each)) for each in values] if key == "delay" else values)
        if part in PARTS:
            refuse_unknown(f"parameter of {part}", [parameter], {each for c in curves for each in list_taken(part, c)})
    settings: list[Setting | TheoryCurve | PublishedPoint] = []
    for curve in curves:
        if "published" in curve:
            settings += list_published_points(f"{name}/", len(settings), goal, curve, vary)
            continue
        for values in combinations(curve, vary):
            settings.append(setting(f"{name}/{len(settings)}", goal, curve, values, data.get("seed", 0)))
    shown = goal.shown
    figure, value = data.get("figure", next(iter(shown.figures))), name_columns(data.get("value", []))
    refuse_unknown("figure", [str(figure)], shown.figures)
    if bool(value) != (figure == "value"):
        raise InvalidValue("value", list(value.values()) or None, 'given if figure = "value", and only then')
    about, source, caption = (str(data.get(key, "")) for key in ("about", "source", "caption"))
    return Experiment(name, about, source, text, settings, goal, shown, figure, value, caption)


def refuse_keys(kind: str, given: dict[str, Any], known: tuple[str, ...], goal: Goal) -> None:
    """Every key is read for this goal."""
    for key in given:
        others = [repr(other.name) for other in list_goals().values() if key in (*other.asks, *other.options)]
        if key not in known and others:
            said = f"left out: it goes with goal = {' or '.join(others)}, and this is {goal.name!r}"
            raise InvalidValue(kind, key, said)
    refuse_unknown(kind, given, known)


def list_curve_parts(curve: dict[str, Any]) -> tuple[str, ...]:
    """What a curve is made of; one of theory has no policy, and a channel only if it needs an epsilon."""
    if "published" in curve:
        return ()
    if "theory" not in curve:
        return PARTS
    return ("instance",) if curve["theory"] in theory.WITHOUT_EPSILON else ("channel", "instance")


def list_taken(part: str, curve: dict[str, Any]) -> list[str]:
    """The parameters that a part of a curve has."""
    return TABLES.parameters(part, curve.get(part)) if part in list_curve_parts(curve) else []


def combinations(curve: dict[str, Any], vary: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """All values of what varies in a curve, by their keys."""
    axes = [key for key in vary if "." not in key or key.partition(".")[2] in list_taken(key.partition(".")[0], curve)]
    axes = [key for key in axes if key != "delay" or "theory" not in curve]  # theory has no delays
    for combination in product(*(vary[key] for key in axes)):
        yield dict(zip(axes, combination, strict=True))


def setting(id: str, goal: Goal, curve: dict[str, Any], values: dict[str, Any], seed: Any) -> Setting | TheoryCurve:
    """A curve at these values of what varies."""
    own = {part: dict(expand_table(part, curve.get(part))) for part in list_curve_parts(curve)}
    for key, value in values.items():
        part, _, parameter = key.partition(".")
        if part in PARTS:
            own[part][parameter] = value
    instance = TABLES.made("instance", own["instance"])
    if "theory" in curve:
        check_arms(instance)
    task = goal.read_task({key: values.get(key, curve.get(key)) for key in goal.asks}, instance)
    if "theory" in curve:
        if curve["theory"] in goal.bounds and not instance.bits:
            raise InvalidValue("instance", instance, f"one whose rewards are bits, for theory {curve['theory']!r}")
        if not instance.tells_all:
            raise InvalidValue("instance", instance, "one whose users have one reward each, for a curve of theory")
        if instance.moves:
            raise InvalidValue("instance", instance, "one whose means stay, for a curve of theory")
        if task.get("delta", 0) >= 0.5:
            raise InvalidValue("delta", task["delta"], "below 1/2 for a curve of theory: from there on the bound is 0")
        channel = TABLES.made("channel", own["channel"]) if "channel" in own else None
        if channel is not None and not hasattr(channel, "epsilon"):
            raise InvalidValue("channel", curve["channel"], f"one with an epsilon, for theory {curve['theory']!r}")
        epsilon = math.inf if channel is None else float(channel.epsilon)
        return TheoryCurve(id, label_of(curve), curve["theory"], epsilon, instance, task, values)
    policy, channel = TABLES.made("policy", own["policy"]), TABLES.made("channel", own["channel"])
    goal.check(policy, channel, instance, AT_ONCE, task)
    delay = TABLES.made("delay", values.get("delay", curve.get("delay", 0)))
    refuse_unrehearsed(channel, instance, delay)
    runs = to_whole("runs", curve.get("runs", 1), 1, 10**7)
    what = policy, channel, instance, task
    return Setting(id, label_of(curve), *what, runs, to_whole("seed", seed, 0), values, delay)


def list_published_points(
    prefix: str, first: int, goal: Goal, curve: dict[str, Any], vary: dict[str, list[Any]]
) -> list[PublishedPoint]:
    """The published numbers, one setting for each."""
    try:
        pairs = [(name, *pair) for name, each in curve["published"].items() for pair in each]
        rows = [(name, float(to_fraction("ε", x)), float(to_fraction("samples", y))) for name, x, y in pairs]
    except (AttributeError, TypeError, ValueError, OverflowError):
        allowed = "a table of lists of [epsilon, samples], both finite and above 0"
        raise InvalidValue("published", curve["published"], allowed) from None
    means = vary.get("instance.means", [expand_table("instance", curve.get("instance")).get("means")])
    refuse_unknown("instance of published", curve["published"], [each for each in means if isinstance(each, str)])
    found: list[PublishedPoint] = []
    task = {key: curve.get(key) for key in goal.asks}
    for name, epsilon, samples in rows:
        values = {"instance.means": name, "channel.epsilon": epsilon}
        found.append(PublishedPoint(f"{prefix}{first + len(found)}", label_of(curve), samples, task, values))
    return found


def label_of(curve: dict[str, Any]) -> str:
    """The label of a curve; the name of its theory or channel if it has none."""
    given = curve.get("label", curve.get("theory", "published" if "published" in curve else None))
    return str(given if given is not None else expand_table("channel", curve.get("channel"))["name"])


def name_columns(value: Any) -> dict[str, str]:
    """Names of columns by what to call them; in a list, each by its own."""
    value = [value] if isinstance(value, str) else value
    names: Any = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise InvalidValue("value", value, "the name of a column, a list of names, or a table of names")
    refuse_twice("value", names)
    return value if isinstance(value, dict) else dict(zip(names, names, strict=True))
