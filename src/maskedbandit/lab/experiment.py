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

    [vary]                                # every curve that has such a parameter takes every value
    "channel.epsilon" = [0.1, 0.5, 1.0]
    "instance.seed" = [0, 1, 2]

Settings have ids, `name/0`, `name/1`, ... in the order of curves, then of values; an id names its random streams too.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import MISSING, dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

import maskedbandit.channels as channels
import maskedbandit.noises as noises
import maskedbandit.policies as policies
from maskedbandit.channels.channel import Channel
from maskedbandit.channels.codec import Grid
from maskedbandit.errors import InvalidValue, UnknownName
from maskedbandit.lab.engine import LONGEST, Run, simulate, whole
from maskedbandit.lab.instances import Instance, uniform_means
from maskedbandit.policies.policy import Policy

PARTS = ("policy", "channel", "instance")
CURVE = ("label", "horizon", "runs", *PARTS)
FILE = ("about", "source", "horizon", "runs", "seed", *PARTS, "curves", "vary")


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
class Experiment:
    """A file of settings, read and checked as a whole before anything runs."""

    name: str
    about: str
    source: str
    text: str
    settings: list[Setting]


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
    labels = [label_of(curve) for curve in curves]
    for label in labels:
        if labels.count(label) > 1:
            raise InvalidValue("label", label, "another for each curve, or their runs would be mixed")
    vary: Any = data.get("vary", {})
    if not isinstance(vary, dict):
        raise InvalidValue("vary", vary, "a table of lists")
    for key, values in vary.items():
        part, _, parameter = key.partition(".")
        if part not in PARTS or not isinstance(values, list) or not values:
            raise InvalidValue(f"vary.{key}", values, "a list, for policy.NAME, channel.NAME or instance.NAME")
        every = {each for curve in curves for each in parameters(part, curve.get(part))}
        if parameter not in every:
            raise UnknownName(f"parameter of {part}", parameter, every)
    settings: list[Setting] = []
    for curve in curves:
        axes = [key.partition(".") for key in vary]
        axes = [axis for axis in axes if axis[2] in parameters(axis[0], curve.get(axis[0]))]
        for combination in product(*(vary["".join(axis)] for axis in axes)):
            tables = {part: dict(table(part, curve.get(part))) for part in PARTS}
            for (part, _, parameter), value in zip(axes, combination, strict=True):
                tables[part][parameter] = value
            settings.append(
                Setting(
                    f"{name}/{len(settings)}",
                    label_of(curve),
                    made("policy", tables["policy"]),
                    made("channel", tables["channel"]),
                    made("instance", tables["instance"]),
                    whole("horizon", curve.get("horizon"), 1, LONGEST),
                    whole("runs", curve.get("runs", 1), 1, 10**7),
                    whole("seed", data.get("seed", 0), 0),
                    {"".join(axis): value for axis, value in zip(axes, combination, strict=True)},
                )
            )
    return Experiment(name, str(data.get("about", "")), str(data.get("source", "")), text, settings)


def label_of(curve: dict[str, Any]) -> str:
    """The label of a curve; the name of its channel if it has none."""
    return str(curve["label"] if "label" in curve else table("channel", curve.get("channel"))["name"])


def refuse_unknown(kind: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Every key is read by something, or it is a mistake."""
    known = list(known)
    for key in given:
        if key not in known:
            raise UnknownName(kind, key, known)


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
    names = [field.name for field in fields(kind(part, value))]
    return [*names, "k", "seed"] if part == "instance" and "means" in names else names


def made(part: str, value: Any) -> Any:
    """The object that a table describes."""
    given, found = dict(table(part, value)), kind(part, value)
    name = given.pop("name")
    refuse_unknown(f"parameter of {name}", given, parameters(part, value))
    k, seed = given.pop("k", 10), given.pop("seed", 0)
    if part == "instance" and isinstance(given.get("means"), str):
        given["means"] = uniform_means(
            given["means"], whole("k", k, 2, 10**6), whole("instance seed", seed, 0, 2**32 - 1)
        )
    if "noise" in given:
        given["noise"] = made("noise", given["noise"])
    if isinstance(given.get("grid"), dict):
        refuse_unknown("parameter of grid", given["grid"], (field.name for field in fields(Grid)))
        given["grid"] = Grid(**given["grid"])
    for field in fields(found):
        if field.name not in given and field.default is MISSING and field.default_factory is MISSING:
            raise InvalidValue(f"{field.name} of {name}", None, "given")
    try:
        return found(**given)
    except (TypeError, ValueError, OverflowError, AttributeError) as wrong:
        if isinstance(wrong, InvalidValue):
            raise
        raise InvalidValue(f"a parameter of {name}", given, f"of another type ({wrong})") from None
