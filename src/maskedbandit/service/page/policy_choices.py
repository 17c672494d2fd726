"""The policies that the form of a study offers, each with what it is for and what it guarantees, as its file says."""

import re
from functools import cache
from inspect import Parameter, getdoc, getmodule, signature
from typing import Any, NamedTuple

from markupsafe import Markup

import maskedbandit.policies as policies
from maskedbandit.policies.parts.purposes import list_purposes
from maskedbandit.service.page.trust_models import OFFERED_CHANNELS, OFFERED_PARTS, mark_code
from maskedbandit.study.naming import STUDY_PARTS

SENTENCE_END = r"(?<!Thm|Alg|Sec)\.(?=\s|$)"


class PolicyChoice(NamedTuple):
    """A policy of the form."""

    name: str
    about: Markup
    guarantee: Markup
    trust: str  # under which trust models it can be had, if not under all
    choice: str  # what it is for, and what it does, if it is the one for live studies
    meaning: str


@cache
def list_policy_choices() -> dict[str, list[PolicyChoice]]:
    """The policies that need no parameter and have a channel, by what they are for; first those for live studies.

    >>> [each.name for each in list_policy_choices()["For live studies"]]
    ['contemporaneous_klucb', 'contemporaneous_elimination', 'pooled_elimination']
    """
    purposes, about = list_purposes(), dict(policies.room.about())
    found = {"For live studies": list[PolicyChoice](), **{each.heading: [] for each in purposes.values()}}
    for goal, purpose in purposes.items():
        for name in policies.room:
            kind = policies.room[name]
            if getattr(kind, "goal", "") != goal or goal == "contextual" or not (trust := list_trust_of(kind)):
                continue
            best = name == purpose.live
            needs = "" if len(trust) == len(OFFERED_CHANNELS) else f"Only with: {', '.join(trust)}."
            guarantee = mark_code(find_guarantee(kind))
            words = (purpose.choice, purpose.meaning) if best else ("", "")
            choice = PolicyChoice(name, mark_code(about[name]), guarantee, needs, *words)
            found["For live studies" if best else purpose.heading].append(choice)
    return {heading: each for heading, each in found.items() if each}


def list_trust_of(kind: Any) -> list[str]:
    """The trust models under which a policy can be had, if it needs no parameters."""
    if any(each.default is Parameter.empty for each in signature(kind).parameters.values()):
        return []
    tables = [{"name": name} | OFFERED_PARTS.get(name, {}) for name in OFFERED_CHANNELS]
    return [each["name"] for each in tables if not kind().needs(STUDY_PARTS.made("channel", each).law())]


def find_guarantee(kind: Any) -> str:
    """What the file of a policy says that is proved of it, or not, in a sentence; empty if it says it in no such words.

    >>> find_guarantee(policies.room["contemporaneous_klucb"])
    'Not proved: a bound on the regret.'
    """
    for text in (getdoc(getmodule(kind)) or "", getdoc(kind) or ""):
        if match := re.search(rf"\*\*(?:Guarantee|Not proved)\*\*: .+?{SENTENCE_END}", text, re.DOTALL):
            return " ".join(match[0].replace("**", "").split())
        if match := re.search(rf"^(?:Regret|Wrong with) .+?{SENTENCE_END}", text, re.DOTALL | re.MULTILINE):
            return " ".join(match[0].split())
    return ""
