"""An experiment over a real protocol: a backend replaces the ideal ones that its channels have in the file.

It is given as the name of a backend and the parameters that are not the default: `secagg`, or
`secagg,corrupted=0.1,dropout=0.05`.
"""

import tomllib
from dataclasses import replace
from typing import Any, get_type_hints

from maskedbandit import channels
from maskedbandit.backends.backend import Backend
from maskedbandit.backends.ideal import Ideal
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.experiments.experiment import Experiment
from maskedbandit.lab.experiments.names import TABLES
from maskedbandit.lab.goals.setting import PublishedPoint, Setting, TheoryCurve


def read_backend(text: str) -> Backend:
    """The backend that a text describes.

    >>> read_backend("secagg,corrupted=0.1,server=malicious").corrupted
    Fraction(1, 10)
    """
    name, *given = text.split(",")
    table: dict[str, Any] = {"name": name.strip()}
    for each in given:
        key, equals, value = map(str.strip, each.partition("="))
        if not equals or key in table:
            raise InvalidValue("protocol", text, "a name, or a name with parameters, as in secagg,dropout=0.05")
        try:
            table[key] = tomllib.loads(f"value = {value}")["value"]
        except (tomllib.TOMLDecodeError, RecursionError):
            table[key] = value  # a word
    found: Backend = TABLES.made("backend", table)
    if isinstance(found, Ideal):
        raise InvalidValue("protocol", text, "a real protocol")
    return found


def takes_protocol(channel: type, backend: Backend) -> bool:
    """Whether such a channel can have its sums carried so: the type of its `backend` says what it needs."""
    needed = get_type_hints(channel).get("backend")
    return needed is not None and isinstance(backend, needed)


def put_over_protocol(experiment: Experiment, text: str) -> tuple[Experiment, list[str]]:
    """The experiment with this backend under every channel that takes it, and the labels of the other curves."""
    backend, left = read_backend(text), list[str]()
    settings: list[Setting | TheoryCurve | PublishedPoint] = []
    for each in experiment.settings:
        found = each
        channel: Any = each.channel if isinstance(each, Setting) else None
        if isinstance(each, Setting) and takes_protocol(type(channel), backend):
            if isinstance(channel.backend, Ideal):  # a file that names a protocol means it
                found = replace(each, channel=replace(channel, backend=backend))
        elif isinstance(each, Setting) and each.label not in left:
            left.append(each.label)
        settings.append(found)
    if not any(isinstance(each, Setting) and takes_protocol(type(each.channel), backend) for each in settings):
        able = [name for name in channels.room if takes_protocol(channels.room[name], backend)]
        allowed = f"one that a channel of {experiment.name} takes: this one is for {', '.join(able)}"
        raise InvalidValue("protocol", text, allowed)
    return replace(experiment, settings=settings, protocol=text), left
