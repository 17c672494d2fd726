"""How an application connects to a study: programs that are whole, with the study's name and the service's address.

A program is a text of the folder `snippets` whose words in capitals are filled in. None has a key, as keys are shown
once; it is read from the environment. Where outcomes stay on people's devices, the programs are those of devices.
"""

import json
import re
from fractions import Fraction
from functools import cache
from math import isinf, nextafter
from pathlib import Path
from typing import Any, NamedTuple

from maskedbandit.privacy.renyi_divergences import INF
from maskedbandit.service.views.view import StudyView
from maskedbandit.study.eligibility import EligibilityRule
from maskedbandit.study.protocol import Protocol

SNIPPET_FOLDER = Path(__file__).parent / "snippets"
HOST = re.compile(r"([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(:[0-9]{1,5})?", re.IGNORECASE)
ANY_ADDRESS = "https://bandit.example"  # if whoever asks names none that can be one
SAID_OF_EVALUATING = {
    "exposes": "evaluating it gives her a place, and says that she saw the arm",
    "enrols": "evaluating it gives her a place, and not yet says that she saw the arm",
}
UNSIGNED = {"person": '"ann"'} | dict.fromkeys(
    ("token", "python_imports", "noise_imports", "python_token", "script_token", "signer"), ""
)
SIGNED = {  # your server signs who comes
    "person": '"ann", token',
    "token": r", \"token\": \"$PERSON_TOKEN\"",  # in the double quotes of a shell
    "python_imports": "import time\n\nimport maskedbandit as mb",
    "noise_imports": "import time\n",
    "python_token": (
        'signing_key = os.environ["PERSON_SIGNING_KEY"]  # of which signed_by is the public part\n'
        'token = mb.sign_person(signing_key, "{{study}}", "ann", int(time.time()) + 3600)\n'
    ),
    "script_token": (
        "const signingKey = process.env.PERSON_SIGNING_KEY; // of which signed_by is the public part\n"
        'const token = signPerson(signingKey, "{{study}}", "ann", Math.floor(Date.now() / 1000) + 3600);\n'
    ),
    "signer": ", signPerson",
}
WORD = re.compile(r"\{\{(\w+)\}\}")
HANDED_ON = "Outcomes stay on people's devices: your server hands each place on, and the person's device reports."
NOISE = (
    "Your server hears the outcomes, and adds the noise before it passes them on. People's own devices do that in "
    "studies whose protocol has signed_by and a grace."
)
FLAGS = "Any provider of OpenFeature that speaks OFREP does the same: a flag is the study, its variants are the arms."
IN_METADATA = "The metadata have what the person's device joins with, device, as a text of JSON."
KEYS_IN_PAGES = (
    "The key in a page is a device key, made for the pages of your site. It is worth nothing without the token that "
    "your server signs for the person who is signed in."
)
NO_SEALS_FROM_PAGES = (
    "A page may send what it seals if a device key names its site, and such a key is for studies whose protocol has "
    "signed_by. Apps that are no pages need none, as in Python."
)
NO_PAGES = (
    "A page has no key: your server asks for the arm, as above, and writes it into the page. Pages ask by themselves "
    "in studies whose protocol has signed_by, with a device key and a token that your server signs for each person."
)


NO_ROUNDS_IN_PAGES = (
    "A page that people close is gone before a round of devices is over: these are for programs that stay, such as "
    "those of kiosks, in Python, or in a browser with corrupted in new Agreed()."
)


class Snippet(NamedTuple):
    """A program, under a title; or what is to be said in place of one."""

    id: str
    title: str
    about: str
    code: str = ""


@cache
def read_snippet(*names: str) -> str:
    """The text of these files, one after the other."""
    return "".join((SNIPPET_FOLDER / name).read_text() for name in names)


def find_address(scheme: str, host: str) -> str:
    """The address of a service by the scheme and the `Host` of a request, which may say anything.

    >>> find_address("http", "localhost:8000"), find_address("http", '"><script>')
    ('http://localhost:8000', 'https://bandit.example')
    """
    right = scheme in ("http", "https") and HOST.fullmatch(host)
    return f"{scheme}://{host}" if right else ANY_ADDRESS


def write_snippets(view: StudyView, address: str) -> list[Snippet]:
    """The programs for a study that is reached at an address."""
    protocol = view.protocol
    words = describe_words(protocol) | {"address": address}

    def fill(found: re.Match[str]) -> str:
        return words[found[1]]

    return [each._replace(code=WORD.sub(fill, each.code)) for each in choose_snippets(protocol)]


def choose_snippets(protocol: Protocol) -> list[Snippet]:
    """The programs for a protocol, before their words are filled in."""
    signed = bool(protocol.signed_by)
    evaluated = ("ofrep.sh", "ofrep_expose.sh") if protocol.reward.evaluating == "enrols" else ("ofrep.sh",)
    if protocol.channel.trust == "central":
        return [
            Snippet("curl", "curl", "", read_snippet("curl.sh", "curl_report.sh")),
            Snippet("python", "Python", "", read_snippet("backend.py.txt")),
            Snippet("node", "JavaScript, on a server", "", read_snippet("backend.js", "backend_report.js")),
            Snippet(
                "web", "JavaScript, in a page", *(KEYS_IN_PAGES, read_snippet("page.js")) if signed else (NO_PAGES,)
            ),
            Snippet("ofrep", "OpenFeature (OFREP)", FLAGS, read_snippet(*evaluated, "ofrep_report.sh")),
        ]
    own = "device.py.txt" if signed else "joining.py.txt"
    if protocol.rounds is not None:
        return [
            Snippet("curl", "curl", HANDED_ON, read_snippet("curl.sh")),
            Snippet("python", "Python", "", read_snippet(own)),
            Snippet("web", "JavaScript, in a page", NO_ROUNDS_IN_PAGES),
        ]
    if protocol.operators is None and not (signed and protocol.reward.grace):  # devices report with a device key
        return [Snippet("python", "Python", NOISE, read_snippet("noise.py.txt"))]
    page = (KEYS_IN_PAGES, read_snippet("device.js")) if signed else (NO_SEALS_FROM_PAGES,)
    return [
        Snippet("curl", "curl", HANDED_ON, read_snippet("curl.sh")),
        Snippet("python", "Python", "", read_snippet(own)),
        Snippet("node", "JavaScript, on a server", HANDED_ON, read_snippet("backend.js", "backend_hand.js")),
        Snippet("web", "JavaScript, in a page", *page),
        Snippet("ofrep", "OpenFeature (OFREP)", f"{FLAGS} {IN_METADATA}", read_snippet(*evaluated)),
    ]


def describe_words(protocol: Protocol) -> dict[str, str]:
    """What is filled in of a protocol."""
    people = SIGNED if protocol.signed_by else UNSIGNED
    found = {
        "study": protocol.name,
        "fallback": json.dumps(protocol.arms[0][0], ensure_ascii=False),
        "value": f"{protocol.reward.most:g}",
        "seen": SAID_OF_EVALUATING[protocol.reward.evaluating],
        **{name: text.replace("{{study}}", protocol.name) for name, text in people.items()},
        **write_attributes(protocol),
    }
    if protocol.channel.trust == "central":
        return found
    return found | {
        "channel": write_channel(protocol),
        "python_agreed": write_agreed(protocol, "=", "({})", "False", "{}"),
        "script_agreed": write_agreed(protocol, ": ", "[{}]", "false", "{{ {} }}"),
    }


def write_attributes(protocol: Protocol) -> dict[str, str]:
    """What is said of a person who is eligible, in each language; nothing if everybody is."""
    said = {rule.attribute: choose_attribute(rule) for rule in protocol.enrolment.eligible}
    text = json.dumps(said, ensure_ascii=False)
    found = {
        "python_attributes": f", attributes={said!r}",
        "script_attributes": f", {text}" if protocol.signed_by else f", null, {text}",
        "device_attributes": f", {text}",
        "page_attributes": f", attributes: {text}",
        "shell_attributes": quote_in_shell(f', "attributes": {text}'),
        "context_attributes": quote_in_shell(f", {text[1:-1]}"),
    }
    return found if said else dict.fromkeys(found, "")


def choose_attribute(rule: EligibilityRule) -> str | bool | float:
    """A value for which a rule holds."""
    if rule.texts or rule.truth is not None:
        return rule.texts[0] if rule.truth is None else rule.truth
    bound = rule.most if isinf(rule.least) else rule.least
    return int(bound) if bound.is_integer() else bound


def quote_in_shell(text: str) -> str:
    r"""A text as it stands in the double quotes of a shell.

    >>> print(quote_in_shell('"$x"'))
    \"\$x\"
    """
    return re.sub(r'(["$`\\])', r"\\\1", text)


def write_channel(protocol: Protocol) -> str:
    """The channel to which people agreed, in Python.

    >>> from maskedbandit.study.protocol import Protocol
    >>> write_channel(Protocol('{"channel":{"epsilon":2,"name":"central"},"people":9}'))
    'Central(epsilon=2)'
    """
    channel, given = protocol.channel, protocol.table["channel"]
    more = given.items() if isinstance(given, dict) else ()
    told = ", ".join(f"{key}={value!r}" for key, value in more if key != "name")
    return f"{type(channel).__name__}({told})"


def write_agreed(protocol: Protocol, being: str, pair: str, false: str, options: str) -> str:
    """What a person agrees to, for this study alone: its epsilon, and with whose keys reports are sealed.

    The texts are how a language writes that a name is a value, two values together, false, and all options.
    """
    channel: Any = protocol.channel
    epsilon, more, named = Fraction(channel.epsilon), list[str](), protocol.operators
    if named is not None:
        keys = f'"{named.leader.key}", "{named.helper.key}"'
        more.append(f"operators{being}{pair.format(keys)}")
    if protocol.shuffled:
        more.append(f"delta{being}{write_delta(Fraction(protocol.price(1).delta))}")
    if protocol.rounds is not None:
        more.append(f'corrupted{being}"{channel.backend.rules.corrupted}"')
        epsilon *= channel.backend.attempts
    if protocol.price(1).pure_epsilon == INF and not protocol.shuffled:
        more.append(f"pure{being}{false}")
    told = str(epsilon) if epsilon.denominator == 1 else f'"{epsilon}"'
    return f"{told}, {options.format(', '.join(more))}" if more else told


def write_delta(delta: Fraction) -> str:
    """A probability as a number that is not smaller.

    >>> write_delta(Fraction(1, 3)), write_delta(Fraction(1, 1000))
    ('0.33333333333333337', '0.001')
    """
    found = float(delta)
    return repr(found if Fraction(repr(found)) >= delta else nextafter(found, 1))
