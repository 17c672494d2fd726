"""Whom a study is about, if not everybody who comes: for its statement, and for the page."""

from maskedbandit.study.enrolment import Ramp
from maskedbandit.study.protocol import Protocol
from maskedbandit.words import say_duration


def say_eligibility(protocol: Protocol) -> str:
    """The rules on what an application says of a person; empty if there are none."""
    *others, last = [rule.says for rule in protocol.enrolment.eligible] or [""]
    return f"{', '.join(others)}{' and ' if others else ''}{last}"


def say_ramp(ramp: Ramp) -> str:
    """Which shares of people come from when on.

    >>> say_ramp(Ramp.from_table({"shares": ["1/20", "1/4"], "every": "12 hours"}))
    '1/20 of the people from the start, 1/4 after 12 hours, and all after 1 day'
    """
    steps = [f"{share} after {say_duration(i * ramp.every)}" for i, share in enumerate(ramp.shares) if i]
    after = say_duration(len(ramp.shares) * ramp.every)
    return ", ".join([f"{ramp.shares[0]} of the people from the start", *steps, f"and all after {after}"])


def say_population(protocol: Protocol) -> str:
    """Whom the study is about; empty if it is everybody who comes."""
    rules, found = protocol.enrolment, list[str]()
    if rules.eligible:
        found.append(f"those of whom the application says that {say_eligibility(protocol)}")
    if (group := rules.group) is not None:
        part = f"a part drawn by chance, {group.below - group.least} of all people of project {protocol.project}"
        found.append(f"{part} (from {group.least} to {group.below} of the group {group.name})")
    if rules.ramp is not None:
        found.append(f"let in step by step, {say_ramp(rules.ramp)}")
    return f"The people of this study are {'; '.join(found)}." if found else ""


def list_revealed(protocol: Protocol) -> list[str]:
    """What it says of a person to have taken part, which nothing protects."""
    if not protocol.enrolment.eligible:
        return []
    return [
        f"That the rules of the study are true of whoever took part: {say_eligibility(protocol)}. Whoever learns that "
        "a person took part learns that too."
    ]


def list_relied_on(protocol: Protocol) -> list[str]:
    """What is assumed of the rules."""
    if not protocol.enrolment.eligible:
        return []
    return [
        "What the application says of a person, by which it is decided who takes part, was known before the person "
        "came, and follows from no outcome of this study."
    ]
