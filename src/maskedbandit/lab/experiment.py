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

`figure` says how it is drawn: "regret" against users (the default), its time "average", the "value" of other columns of
the table (`value = "name"`, a list of names, or a table `"what to call it" = "name"`), or as a "league" table.

Settings have ids, `name/0`, `name/1`, ... in the order of curves, then of values; an id names its random streams too.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, dataclass, field, fields
from itertools import product
from pathlib import Path
from typing import Any

import maskedbandit.channels as channels
import maskedbandit.noises as noises
import maskedbandit.policies as policies
from maskedbandit import theory
from maskedbandit.channels.channel import Channel
from maskedbandit.channels.codec import Grid
from maskedbandit.errors import InvalidValue, UnknownName
from maskedbandit.lab.engine import LONGEST, Run, simulate, whole
from maskedbandit.lab.instances import Instance, named_means
from maskedbandit.policies.policy import Policy

PARTS = ("policy", "channel", "instance")
CURVE = ("label", "theory", "horizon", "runs", *PARTS)
FILE = ("about", "source", "figure", "value", "horizon", "runs", "seed", *PARTS, "curves", "vary")
FIGURES = ("regret", "average", "value", "league")


@dataclass(frozen=True)
class Setting:
    """One cell of an experiment: everything that a simulation needs."""

    id: str
    label: str
    policy: Policy
    channel: Channel
    instance: Instance
    horizon: int
    runs: int
    seed: int
    values: dict[str, Any]  # what varies, by its key

    def run(self, **how: Any) -> Run:
        """Simulate it; the id names the random streams."""
        what = self.policy, self.channel, self.instance, self.horizon, self.runs, self.seed
        return simulate(*what, study=self.id, **how)


@dataclass(frozen=True)
class Line:
    """A curve of theory, computed instead of simulated."""

    id: str
    label: str
    theory: str
    epsilon: float
    instance: Instance
    horizon: int
    values: dict[str, Any]
    runs: int = 0


@dataclass(frozen=True)
class Experiment:
    """A file of settings, read and checked as a whole before anything runs."""

    name: str
    about: str
    source: str
    text: str
    settings: list[Setting | Line]
    figure: str = "regret"
    value: dict[str, str] = field(default_factory=dict)  # columns that the figure shows, by what it calls them


def read(path: Path) -> Experiment:
    """The experiment in a TOML file."""
    try:
        text = path.read_text()
        return expand(path.stem, text, tomllib.loads(text))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as wrong:
        raise InvalidValue("experiment", str(path), f"a TOML file that can be read ({wrong})") from None
    except InvalidValue as wrong:
        wrong.args = (f"{path}: {wrong}",)
        raise


def expand(name: str, text: str, data: dict[str, Any]) -> Experiment:
    """All settings: every curve with every combination of the values that it takes."""
    refuse_unknown("key", data, FILE)
    given = data.get("curves")
    if not isinstance(given, list) or not given:
        raise InvalidValue("curves", given, "one [[curves]] table or more")
    for curve in given:
        if not isinstance(curve, dict):
            raise InvalidValue("curves", given, "one [[curves]] table or more")
        refuse_unknown("key of [[curves]]", curve, CURVE)
    curves = [{**data, **curve} for curve in given]
    for curve, own in zip(curves, given, strict=True):
        if "theory" in curve:
            if "policy" in own:
                raise InvalidValue("policy", own["policy"], "left out of a curve of theory")
            refuse_unknown("theory", [str(curve["theory"])], theory.CURVES)
    labels = [label_of(curve) for curve in curves]
    for label in labels:
        if labels.count(label) > 1:
            raise InvalidValue("label", label, "another for each curve, or their runs would be mixed")
    vary: Any = data.get("vary", {})
    if not isinstance(vary, dict):
        raise InvalidValue("vary", vary, "a table of lists")
    for key, values in vary.items():
        part, _, parameter = key.partition(".")
        if (part not in PARTS and key != "horizon") or not isinstance(values, list) or not values:
            raise InvalidValue(f"vary.{key}", values, "a list, for horizon, policy.NAME, channel.NAME or instance.NAME")
        refuse_twice(f"vary.{key}", values)
        if part in PARTS:
            refuse_unknown(f"parameter of {part}", [parameter], {each for c in curves for each in takes(part, c)})
    settings: list[Setting | Line] = []
    for curve in curves:
        for values in combinations(curve, vary):
            settings.append(setting(f"{name}/{len(settings)}", curve, values, data.get("seed", 0)))
    figure, value = data.get("figure", "regret"), columns(data.get("value", []))
    refuse_unknown("figure", [str(figure)], FIGURES)
    if bool(value) != (figure == "value"):
        raise InvalidValue("value", list(value.values()) or None, 'given if figure = "value", and only then')
    about, source = str(data.get("about", "")), str(data.get("source", ""))
    return Experiment(name, about, source, text, settings, figure, value)


def parts(curve: dict[str, Any]) -> tuple[str, ...]:
    """What a curve is made of; one of theory has no policy, and a channel only if it needs an epsilon."""
    if "theory" not in curve:
        return PARTS
    return ("instance",) if curve["theory"] in theory.WITHOUT_EPSILON else ("channel", "instance")


def takes(part: str, curve: dict[str, Any]) -> list[str]:
    """The parameters that a part of a curve has."""
    return parameters(part, curve.get(part)) if part in parts(curve) else []


def combinations(curve: dict[str, Any], vary: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """All values of what varies in a curve, by their keys."""
    axes = [key for key in vary if key == "horizon" or key.partition(".")[2] in takes(key.partition(".")[0], curve)]
    for combination in product(*(vary[key] for key in axes)):
        yield dict(zip(axes, combination, strict=True))


def setting(id: str, curve: dict[str, Any], values: dict[str, Any], seed: Any) -> Setting | Line:
    """A curve at these values of what varies."""
    own = {part: dict(table(part, curve.get(part))) for part in parts(curve)}
    for key, value in values.items():
        part, _, parameter = key.partition(".")
        if part in PARTS:
            own[part][parameter] = value
    instance = made("instance", own["instance"])
    horizon = whole("horizon", values.get("horizon", curve.get("horizon")), 1, LONGEST)
    if "theory" in curve:
        channel = made("channel", own["channel"]) if "channel" in own else None
        if channel is not None and not hasattr(channel, "epsilon"):
            raise InvalidValue("channel", curve["channel"], f"one with an epsilon, for theory {curve['theory']!r}")
        epsilon = math.inf if channel is None else float(channel.epsilon)
        return Line(id, label_of(curve), curve["theory"], epsilon, instance, horizon, values)
    policy, channel = made("policy", own["policy"]), made("channel", own["channel"])
    runs = whole("runs", curve.get("runs", 1), 1, 10**7)
    return Setting(id, label_of(curve), policy, channel, instance, horizon, runs, whole("seed", seed, 0), values)


def label_of(curve: dict[str, Any]) -> str:
    """The label of a curve; the name of its theory or channel if it has none."""
    given = curve.get("label", curve.get("theory"))
    return str(given if given is not None else table("channel", curve.get("channel"))["name"])


def refuse_unknown(kind: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Every key is read by something, or it is a mistake."""
    known = list(known)
    for key in given:
        if key not in known:
            raise UnknownName(kind, key, known)


def refuse_twice(name: str, values: list[Any]) -> None:
    """What is listed twice would be drawn as one, with half the error."""
    for i, value in enumerate(values):
        if value in values[:i]:
            raise InvalidValue(name, values, f"without repeats ({value!r} is there twice)")


def columns(value: Any) -> dict[str, str]:
    """Names of columns by what to call them; in a list, each by its own."""
    value = [value] if isinstance(value, str) else value
    names: Any = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise InvalidValue("value", value, "the name of a column, a list of names, or a table of names")
    refuse_twice("value", names)
    return value if isinstance(value, dict) else dict(zip(names, names, strict=True))


def table(part: str, value: Any) -> dict[str, Any]:
    """`"central"` is short for `{ name = "central" }`."""
    found: Any = {"name": value} if isinstance(value, str) else value
    if not isinstance(found, dict) or not isinstance(found.get("name"), str):
        raise InvalidValue(part, value, f"the name of a {part}, or a table with its name and parameters")
    return found


def instances() -> dict[str, type[Instance]]:
    """Families of instances by name."""
    return {re.sub("(?<!^)(?=[A-Z])", "_", c.__name__).lower(): c for c in Instance.__subclasses__()}


def kind(part: str, value: Any) -> Any:
    """The class that a table names."""
    name = table(part, value)["name"]
    if part == "instance":
        refuse_unknown(part, [name], instances())
        return instances()[name]
    return {"policy": policies, "channel": channels, "noise": noises}[part].room[name]


def parameters(part: str, value: Any) -> list[str]:
    """What a table may hold besides its name; generated means take a number of arms and a seed."""
    names = [each.name for each in fields(kind(part, value))]
    return [*names, "k", "seed"] if part == "instance" and "means" in names else names


def made(part: str, value: Any) -> Any:
    """The object that a table describes."""
    given, found = dict(table(part, value)), kind(part, value)
    name = given.pop("name")
    refuse_unknown(f"parameter of {name}", given, parameters(part, value))
    k, seed = given.pop("k", 10), given.pop("seed", 0)
    if part == "instance" and isinstance(given.get("means"), str):
        given["means"] = named_means(
            given["means"], whole("k", k, 2, 10**6), whole("instance seed", seed, 0, 2**32 - 1)
        )
    if "noise" in given:
        given["noise"] = made("noise", given["noise"])
    if isinstance(given.get("grid"), dict):
        refuse_unknown("parameter of grid", given["grid"], (each.name for each in fields(Grid)))
        given["grid"] = Grid(**given["grid"])
    for each in fields(found):
        if each.name not in given and each.default is MISSING and each.default_factory is MISSING:
            raise InvalidValue(f"{each.name} of {name}", None, "given")
    try:
        return found(**given)
    except (TypeError, ValueError, OverflowError, AttributeError) as wrong:
        if isinstance(wrong, InvalidValue):
            raise
        raise InvalidValue(f"a parameter of {name}", given, f"of another type ({wrong})") from None
