"""Known answers for other languages, in vectors/: `make golden` writes them; vectors/README.md says what they are."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from maskedbandit.backends.prio3 import Prio3
from maskedbandit.channels.offers import NoiseShare, Offer
from maskedbandit.channels.response import Response
from maskedbandit.channels.two_servers import TwoServers
from maskedbandit.device.offer_prices import price_sealed_offer
from maskedbandit.device.own_place import read_place
from maskedbandit.device.rounding import round_outcome
from maskedbandit.device.sealing import seal_upload
from maskedbandit.errors import InvalidValue, Unauthorized
from maskedbandit.privacy import sampling
from maskedbandit.privacy.sampling import SPAN, Bits
from maskedbandit.secagg import uploads
from maskedbandit.secagg.prio3 import NONCE, SEED, Range
from maskedbandit.secagg.uploads import ReportTerms, ShareReader, seal_report
from maskedbandit.study.operators import OperatorKeys
from maskedbandit.study.signatures import LONGEST_LIFE, check_token, sign_person
from tests.golden.fixed_bytes import PAGE, PAGES, Entry, make_bytes, read_bytes
from tests.golden.fixed_operators import OPERATORS, PRIVATE, SEAL_KEYS, make_place
from tests.golden.fixed_seals import FixedSuite
from tests.golden.local_vectors import list_local_offers, list_local_reports
from tests.golden.mixed_vectors import list_bundles, list_mixed_offers
from tests.golden.round_vectors import list_neighbourhoods, list_rounds, list_summed_offers

FOLDER = Path(__file__).parent.parent.parent / "vectors"


def list_fingerprints() -> list[Entry]:
    """Fingerprints of operators' keys."""
    strange = [OperatorKeys(bytes(32), bytes(32)), OperatorKeys(b"\xff" * 32, bytes(32))]
    return [
        {"seals": keys.seals.hex(), "signs": keys.signs.hex(), "fingerprint": keys.fingerprint}
        for keys in (*OPERATORS, *strange)
    ]


def list_prio3() -> list[Entry]:
    """Shares of values, and what both operators tell each other of them; one share of each kind is altered."""
    found = []
    for largest, values in ((1, (0, 1)), (2, (0, 1, 2)), (3, (3,)), (255, (0, 77, 255)), (1000, (999,)), (2**20, (5,))):
        for value in values:
            name = f"prio3 {largest} {value}"
            proofs, rand = Range(largest, b"known answers"), make_bytes(name, 2 * SEED)
            key, nonce = make_bytes(f"{name} key", SEED), make_bytes(f"{name} nonce", NONCE)
            shares = proofs.shard(value, rand)
            told = [proofs.query(role, key, nonce, share) for role, share in enumerate(shares)]
            proofs.check(told[0][1], told[1][1])
            entry: Entry = {"largest": largest, "context": b"known answers".hex(), "value": value, "rand": rand.hex()}
            entry |= {"leader": shares[0].hex(), "helper": shares[1].hex(), "key": key.hex(), "nonce": nonce.hex()}
            entry |= {"values": [str(number) for number, _ in told], "verifiers": [each.hex() for _, each in told]}
            found.append(entry)
    return found


TERMS = ReportTerms(make_bytes("study", 32), 3, make_bytes("offer", 32), 255, 7)
OTHERS: list[Entry] = [
    {"study": make_bytes("another study", 32)},
    {"cohort": 4},
    {"offer": make_bytes("another offer", 32)},
    {"place": 8},
]


def describe_terms(terms: ReportTerms) -> Entry:
    """Terms as they stand in the file."""
    return {key: value.hex() if isinstance(value, bytes) else value for key, value in asdict(terms).items()}


def list_seals() -> list[Entry]:
    """Sealed shares, what they are bound to, and what an operator reads in them."""
    found, key = [], make_bytes("verify", SEED)
    for turn, largest, value in ((0, 255, 200), (9, 255, 0), (2**32 - 1, 1, 1)):
        terms, ephemeral = replace(TERMS, largest=largest), [make_bytes(f"seal {turn} {role}", 32) for role in (0, 1)]
        random = make_bytes(f"seal {turn}", NONCE + 2 * SEED)
        with patch.object(uploads, "REPORT_SUITE", FixedSuite(iter(ephemeral))):
            made = seal_report(terms, value, SEAL_KEYS, turn, read_bytes(random))
        shares = terms.range.shard(value, random[NONCE:])
        for role, sealed in enumerate((made.leader, made.helper)):
            share = ShareReader(role, PRIVATE[role], key).read(terms, made.report, turn, sealed)
            entry: Entry = {"role": role, "private": PRIVATE[role].private_bytes_raw().hex()}
            entry |= {"public": SEAL_KEYS[role].hex(), "terms": describe_terms(terms), "report": made.report.hex()}
            entry |= {"turn": turn, "info": terms.bind(role, made.report, turn).hex(), "share": shares[role].hex()}
            entry |= {"ephemeral": ephemeral[role].hex(), "sealed": sealed.hex(), "key": key.hex()}
            entry |= {"value": str(share.value), "verifier": share.verifier.hex()}
            changes = [describe_terms(replace(terms, **change)) for change in OTHERS]
            found.append({**entry, "refused": changes})
    return found


def list_uploads() -> list[Entry]:
    """Whole bodies of requests."""
    found = []
    for steps, said, turn in ((1, 0, 0), (1, 1, 0), (255, 255, 12)):
        place = make_place(TwoServers(epsilon=1, grid=steps, backend=Prio3()).offer(100).at(7))
        name = f"upload {steps} {said}"
        random, ephemeral = make_bytes(name, NONCE + 2 * SEED), [make_bytes(f"{name} {role}", 32) for role in (0, 1)]
        with patch.object(uploads, "REPORT_SUITE", FixedSuite(iter(ephemeral))):
            body = seal_upload(read_place(place), said, turn, read_bytes(random))
        entry: Entry = {"place": place, "steps": said, "turn": turn, "random": random.hex()}
        found.append({**entry, "ephemeral": [each.hex() for each in ephemeral], "body": body})
    return found


def list_offer_texts() -> list[str]:
    """Lines of which some are offers of two servers, and some only look like one."""
    good = TwoServers(epsilon=1, grid=255, backend=Prio3()).offer(100).at(7)
    laplace = good.noise
    assert laplace is not None
    others: list[Entry] = [
        *({"n": n} for n in (1, 49, 50, 2**60)),
        *({"steps": steps} for steps in (0, 1, 2**20, 2**20 + 1)),
        *({"modulus": modulus} for modulus in (0, 256, good.modulus - 1)),
        *({"channel": name} for name in ("Central", "Distributed")),
        *({"noise": noise} for noise in (None, NoiseShare("Skellam", Fraction(255), 1))),
        *({"noise": laplace._replace(scale=scale)} for scale in (Fraction(254), Fraction(510), Fraction(511, 2))),
        {"noise": laplace._replace(least=2)},
        *({"terms": terms} for terms in ((), (("epsilon", Fraction(1, 2)),), (("epsilon", Fraction(-1)),))),
        {"position": None},
        {"metric": "unsubscribed"},
    ]
    found = [good.to_text(), good.also(cap=3).to_text()]
    for epsilon, steps in ((Fraction(1, 10), 255), (Fraction(1, 3), 1), (Fraction(7, 3), 1000), (Fraction(3), 16)):
        found.append(TwoServers(epsilon=epsilon, grid=steps, backend=Prio3()).offer(10**6).at(0).to_text())
    for change in others:
        position = min(good.position or 0, change.get("n", 100) - 1)
        found.append(replace(good, **{"position": position, **change}).to_text())
    text = good.to_text()
    found += ["", text + "\n", " " + text, text.replace("n=100", "n=0100"), text.replace("255:1", "510/2:1")]
    found += [text.replace("position=7", "position=100"), text.replace("-1 ", "-2 ", 1), text.replace("epsilon:1", "")]
    return [*found, text.replace(" terms", "  terms"), text + " more=1", text.replace("255", "２５５"), text[:-1]]


def list_offers() -> list[Entry]:
    """Whether a person who agreed to cohorts of 50 at least takes part, and what is wrong if not."""
    found = []
    for text in list_offer_texts():
        entry: Entry = {"text": text, "least": 50}
        try:
            offer = Offer.from_text(text)
            entry["digest"] = offer.digest.hex()
            entry["epsilon"] = str(price_sealed_offer(offer, 50))
        except InvalidValue as wrong:
            entry["refused"] = str(wrong).partition(" is ")[0]
        found.append(entry)
    return found


NOW = 1_764_000_000  # seconds since 1970
SIGNERS = [Ed25519PrivateKey.from_private_bytes(make_bytes(f"signer {i}", 32)) for i in range(3)]
PUBLIC = [private.public_key().public_bytes_raw().hex() for private in SIGNERS]
PEOPLE = (("newsletter", "ann"), ("newsletter", "Zoë Müller"), ("a.b-c_d", " 7 newsletter ann"), ("s" * 64, "x" * 256))


def list_signed_tokens() -> list[Entry]:
    """Tokens, and what they are made of."""
    found = []
    for i, (study, unit) in enumerate(PEOPLE):
        signer, expires = SIGNERS[i % 2], NOW + 600 * i
        token = sign_person(signer.private_bytes_raw().hex(), study, unit, expires)
        entry: Entry = {"private": signer.private_bytes_raw().hex(), "public": PUBLIC[i % 2]}
        found.append(entry | {"study": study, "unit": unit, "expires": expires, "token": token})
    return found


def list_checked_tokens() -> list[Entry]:
    """Tokens that come to a study, and the code with which they are refused, if they are."""
    private = [signer.private_bytes_raw().hex() for signer in SIGNERS]

    def make(signer: int = 0, study: str = "newsletter", unit: str = "ann", expires: int = NOW + 600) -> str:
        return sign_person(private[signer], study, unit, expires)

    good = make()
    key, _, signature = good.split(".")
    other = make(signer=1).partition(".")[0]
    texts: list[tuple[str | None, int]] = [(good, 1000 * NOW), (make(signer=1), 1000 * NOW)]
    texts += [(good, 1000 * (NOW + 600) - 1), (good, 1000 * (NOW + 600)), (make(expires=0), 1000 * NOW)]
    last = NOW + LONGEST_LIFE
    texts += [(make(expires=last), 1000 * NOW), (make(expires=last), 1000 * NOW - 1)]
    wrong = [make(study="newsletters"), make(unit="bob"), make(unit="ann "), f"{other}.{NOW + 600}.{signature}"]
    wrong += [f"{key}.{NOW + 601}.{signature}", f"{key}.{NOW + 600}.{'0' * 128}", make(signer=2)]
    wrong += [signature, f"{key}.{signature}", good.upper(), f" {good}", f"{good}\n", f"{good}0", good[:-1]]
    wrong += [f"{key}.0{NOW + 600}.{signature}", f"{key}.{NOW + 600}.5.{signature}", f"{key}.+{NOW}.{signature}"]
    wrong += [good.replace("17640006", "１７６４０００６"), "", "ann"]
    found = []
    for token, now in [*texts, *((each, 1000 * NOW) for each in wrong), (None, 1000 * NOW)]:
        entry: Entry = {"signed_by": PUBLIC[:2], "study": "newsletter", "unit": "ann", "token": token, "now": now}
        try:
            check_token(PUBLIC[:2], "newsletter", "ann", token, now)
        except Unauthorized as why:
            entry["refused"] = why.code
        found.append(entry)
    return found


def draw_response(epsilon: Fraction, reward: Fraction, bits: Bits) -> int:
    """What a device sends under randomized response."""
    channel = Response(epsilon=epsilon)
    return channel.randomize(float(reward), channel.offer(1), bits)


SAMPLERS: dict[str, tuple[Callable[..., Any], tuple[str, ...], tuple[tuple[str, ...], ...]]] = {
    "below": (lambda n, bits: bits.below(n), ("n",), tuple((str(n),) for n in (1, 2, 3, 255, 2**63 + 1, SPAN, 2**100))),
    "bernoulli": (sampling.bernoulli, ("p",), (("0",), ("1/3",), ("1",), (f"1/{3**50}",))),
    "bernoulli_exp": (sampling.bernoulli_exp, ("gamma",), (("0",), ("1/2",), ("1",), ("7/3",))),
    "geometric": (sampling.geometric, ("rate",), (("1/10",), ("3",), ("2/7",))),
    "discrete_laplace": (sampling.discrete_laplace, ("scale",), (("1",), ("1/3",), ("10",), ("510",), ("22/7",))),
    "discrete_gaussian": (sampling.discrete_gaussian, ("variance",), (("100",), ("1/7",))),
    "polya": (sampling.polya, ("shape", "rate"), (("1/4", "1/10"), ("5/2", "1"))),
    "exact_poisson": (sampling.exact_poisson, ("mean",), (("4",), ("1/3",))),
    "skellam": (sampling.skellam, ("variance",), (("4",),)),
    "response": (draw_response, ("epsilon", "reward"), (("1", "1"), ("1", "0"), ("1/2", "1/4"), ("5", "1/2"))),
    "round_outcome": (
        lambda value, steps, bits: round_outcome(value, int(steps), bits),
        ("value", "steps"),
        (("1/2", "1"), ("1/3", "255"), ("1", "255"), ("0", "3")),
    ),
}


def list_draws() -> list[Entry]:
    """Draws of every sampler from the first page on, and how many words they took."""
    found = []
    for name, (draw, names, given) in SAMPLERS.items():
        for values in given:
            pages = iter(PAGES)
            bits = Bits(lambda size, pages=pages: next(pages))
            numbers = [Fraction(value) for value in values]
            whole = [int(number) if number.denominator == 1 else number for number in numbers]
            draws = [int(draw(*whole, bits)) for _ in range(20)]
            words = (len(PAGES) - len(list(pages))) * PAGE // 8 - len(bits._words)
            parameters = dict(zip(names, values, strict=True))
            found.append({"sampler": name, **parameters, "draws": [str(each) for each in draws], "words": words})
    return found


FILES: dict[str, Callable[[], Entry]] = {
    "fingerprints": lambda: {"fingerprints": list_fingerprints()},
    "prio3": lambda: {"shares": list_prio3()},
    "seals": lambda: {"seals": list_seals()},
    "uploads": lambda: {"uploads": list_uploads()},
    "offers": lambda: {"offers": list_offers()},
    "local_offers": lambda: {"offers": list_local_offers()},
    "local_reports": lambda: {"reports": list_local_reports()},
    "mixed_offers": lambda: {"offers": list_mixed_offers()},
    "bundles": lambda: {"bundles": list_bundles()},
    "rounds": lambda: {
        "places": list_summed_offers(),
        "neighbourhoods": list_neighbourhoods(),
        "rounds": list_rounds(),
    },
    "tokens": lambda: {"signed": list_signed_tokens(), "checked": list_checked_tokens()},
    "samplers": lambda: {"pages": [page.hex() for page in PAGES], "draws": list_draws()},
}


def write_text(name: str) -> str:
    """What a file should say: an entry a line, so that a change is seen in the diff."""
    parts = []
    for key, entries in FILES[name]().items():
        lines = ",\n".join(f"    {json.dumps(entry)}" for entry in entries)
        parts.append(f"  {json.dumps(key)}: [\n{lines}\n  ]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def write_vectors() -> None:
    """Write all files."""
    for name in FILES:
        (FOLDER / f"{name}.json").write_text(write_text(name))
