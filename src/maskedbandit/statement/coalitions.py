"""What is said of sites that work with whoever runs the study: how many people they may have."""

from typing import Any

from maskedbandit.channels.channel import find_backend
from maskedbandit.study.coalitions import bound_site_people, find_usual_cohort, list_heaviest
from maskedbandit.study.protocol import Protocol
from maskedbandit.words import say_count, say_things


def say_coalitions(protocol: Protocol) -> str:
    """What holds if sites tell whoever runs the study all that they know, whichever are lost, and if none is."""
    assert protocol.sites is not None
    backend: Any = find_backend(protocol.channel)
    n, names = find_usual_cohort(protocol), [each.name for each in protocol.sites.sites]
    allowed, found = bound_site_people(protocol, n), list[str]()
    if backend.colluding:
        known = "it knows" if backend.colluding == 1 else "they know"
        sites = say_things(backend.colluding, "site")
        found.append(f"That holds even if {sites} told whoever runs the study all that {known}.")
    elif not allowed.spare:
        found.append("All sites have to be honest: one that tells whoever runs the study its own sum takes noise away.")
    if allowed.spare:
        told = "do so" if backend.colluding else "tell whoever runs the study all that they know,"
        any_sites = f", so any {say_things(allowed.any_lost, 'site')}" if allowed.any_lost else ""
        found.append(
            f"As long as no site is lost, sites with up to {say_count(allowed.spare)} of {say_count(n)} people in a "
            f"cohort{any_sites}, may {told} at no cost to others."
        )
    worse = next((each for each in list_heaviest(protocol, n) if each.left < n - allowed.spare), None)
    if worse is not None:
        who = " and ".join(names[site] for site in worse.sites)
        found.append(f"If {who} did, a person elsewhere could lose {worse.loss}.")
    if protocol.stage is not None:
        found.append(
            f"All that is of the list of sites from cohort {protocol.stage.first} on; earlier ones had theirs."
        )
    return " ".join(found)
