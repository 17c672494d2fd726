"""The vectors for other languages are what this code does now, and show what they are to show."""

import json
import re
from base64 import urlsafe_b64decode

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

import maskedbandit.noises
from maskedbandit.channels.local import Local
from maskedbandit.channels.response import Response
from maskedbandit.device.own_place import read_place
from maskedbandit.device.shuffled_reports import read_mixing_channel
from maskedbandit.errors import Forged
from maskedbandit.privacy.sampling import Bits
from maskedbandit.privacy.statistics import capped_sum
from maskedbandit.secagg.prio3 import FIELD, SEED
from maskedbandit.secagg.uploads import ReportTerms, ShareReader
from maskedbandit.service.messages import Report
from maskedbandit.shuffle.envelopes import BundleTerms, name_person, open_envelope, open_messages
from tests.for_each import for_each
from tests.golden.fixed_bytes import PAGES
from tests.golden.fixed_operators import PRIVATE
from tests.golden.vectors import FILES, FOLDER, write_text

HOW = "run `make golden`, read the difference, and commit it if it is meant"


def entries(name, key=None):
    """What a file holds."""
    return json.loads((FOLDER / f"{name}.json").read_text())[key or name]


@for_each("name", FILES)
def test_are_current(name) -> None:
    assert (FOLDER / f"{name}.json").read_text() == write_text(name), HOW


def test_no_other_files_are_there() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {"README.md", *(f"{name}.json" for name in FILES)}
    described = (FOLDER / "README.md").read_text()
    assert all(f"`{name}.json`" in described for name in FILES)


def read_terms(given):
    return ReportTerms(
        **{key: bytes.fromhex(value) if isinstance(value, str) else value for key, value in given.items()}
    )


@for_each("entry", entries("seals"), ids=lambda entry: f"{entry['role']} {entry['turn']}")
def test_seals_are_opened_where_they_belong(entry) -> None:
    """They are made with given ephemeral keys; what opens them is what operators run."""
    private = X25519PrivateKey.from_private_bytes(bytes.fromhex(entry["private"]))
    assert private.public_key().public_bytes_raw().hex() == entry["public"]
    reader = ShareReader(entry["role"], private, bytes.fromhex(entry["key"]))
    rest = bytes.fromhex(entry["report"]), entry["turn"], bytes.fromhex(entry["sealed"])
    share = reader.read(read_terms(entry["terms"]), *rest)
    assert (str(share.value), share.verifier.hex()) == (entry["value"], entry["verifier"])
    assert len(entry["refused"]) == 4
    for terms in entry["refused"]:
        with pytest.raises(Forged):
            reader.read(read_terms(terms), *rest)


@for_each("entry", entries("uploads"), ids=lambda entry: entry["turn"])
def test_uploads_hold_what_they_say(entry) -> None:
    place, body = read_place(entry["place"]), json.loads(entry["body"])
    terms = ReportTerms(place.protocol, place.cohort, place.offer.digest, place.offer.steps, place.offer.position)
    report, shares = bytes.fromhex(body["report"]), []
    for role, name in enumerate(("leader", "helper")):
        reader = ShareReader(role, PRIVATE[role], bytes(SEED))
        shares.append(reader.read(terms, report, body["turn"], urlsafe_b64decode(body[name])))
    terms.range.check(shares[0].verifier, shares[1].verifier)
    assert sum(share.value for share in shares) % FIELD == entry["steps"]
    assert (body["ticket"], body["turn"]) == (entry["place"]["ticket"], entry["turn"])


@for_each("entry", entries("local_reports", "reports"), ids=lambda entry: f"{entry['values']} {entry['first_page']}")
def test_local_reports_are_what_the_channel_sends(entry) -> None:
    """The same words make the same number, and a service reads it."""
    place = read_place(entry["place"])
    pages = iter(PAGES[entry["first_page"] :])
    bits, held = Bits(lambda size: next(pages)), {}
    for metric, value in entry["records"]:
        held[metric] = place.find_outcome(metric).add_record(held.get(metric), value)
    for outcome, value, body in zip(place.outcomes, entry["values"], entry["bodies"], strict=True):
        terms, noise = dict(outcome.offer.terms), outcome.offer.noise
        part = Response(terms["epsilon"])
        if noise is not None:
            part = Local(terms["epsilon"], getattr(maskedbandit.noises, noise.noise)(), outcome.offer.steps)
        channel = part.carrying(capped_sum(outcome.cap))
        channel.check_offer(outcome.offer)
        scaled = outcome.scale_outcome(held.get(outcome.metric))
        assert channel.randomize(scaled, outcome.offer, bits) == value
        sent = msgspec.json.decode(body, type=Report)
        assert (sent.ticket, sent.value, sent.metric) == (place.ticket, value, outcome.metric)
    assert len({len(re.sub('"metric":"[^"]*"', "", body)) for body in entry["bodies"]}) == 1


def test_local_offers_are_accepted_or_refused_for_many_reasons() -> None:
    found = entries("local_offers", "offers")
    assert sum("epsilon" in entry for entry in found) >= 20
    reasons = {entry["refused"].split()[0] for entry in found if "refused" in entry}
    assert reasons >= {"n", "steps", "modulus", "noise", "channel", "position", "metric", "epsilon", "cap", "delta"}


def test_offers_are_accepted_or_refused_for_many_reasons() -> None:
    found = entries("offers")
    assert sum("epsilon" in entry for entry in found) >= 5
    assert {"epsilon" in entry for entry in found} == {"refused" not in entry for entry in found} == {True, False}
    reasons = {entry["refused"] for entry in found if "refused" in entry}
    assert {each.split()[0] for each in reasons} >= {"n", "steps", "modulus", "noise", "channel", "position", "metric"}
    assert {"the text of an offer", "epsilon of an offer", "cap of an offer"} <= reasons


def test_mixed_offers_are_accepted_or_refused_for_many_reasons() -> None:
    found = entries("mixed_offers", "offers")
    for channel in ("Shuffled", "SplitAndMix"):
        assert sum("delta" in entry for entry in found if f"channel={channel} " in entry["text"]) >= 15
    assert {"epsilon" in entry for entry in found} == {"refused" not in entry for entry in found} == {True, False}
    reasons = {entry["refused"] for entry in found if "refused" in entry}
    named = ("n", "steps", "modulus", "noise", "channel", "position", "metric", "epsilon", "cap", "coins", "needed")
    assert {f"{name} of an offer" for name in (*named, "delta", "messages", "epsilon and delta")} <= reasons
    assert {"epsilon", "delta", "honest", "eta", "grid", "cap of a place"} <= reasons
    assert any(reason.startswith("the number of honest users") for reason in reasons)


@for_each("entry", entries("bundles"), ids=lambda entry: f"{entry['place']['offer']} {entry['steps']}")
def test_bundles_hold_what_they_say(entry) -> None:
    """What opens them is what a shuffler and a service run, and both sides read the same pass."""
    place, body = read_place(entry["place"]), json.loads(entry["body"])
    who = name_person(place.ticket)
    terms = BundleTerms(place.protocol, place.cohort, place.offer.digest, place.offer.position, who)
    channel = read_mixing_channel(place.offer)
    below, sealed = channel.below(place.offer), urlsafe_b64decode(body.pop("sealed"))
    bundle = open_envelope(sealed, channel.bundle_size(place.offer), below, terms, PRIVATE[1])
    assert [str(each) for each in open_messages(bundle, below, terms.of_cohort, PRIVATE[0])] == entry["messages"]
    assert body == {
        "cohort": 3,
        "n": place.offer.n,
        "place": place.offer.position,
        "offer": place.offer.digest.hex(),
        "who": who.hex(),
        "shown": entry["shown"],
    }


def test_tokens_are_accepted_or_refused_for_every_reason() -> None:
    checked = entries("tokens", "checked")
    reasons = ["missing", "malformed", "unknown_key", "forged", "expired", "expires_too_late"]
    assert {entry.get("refused") for entry in checked} == {None, *(f"token_{reason}" for reason in reasons)}
    assert sum("refused" not in entry for entry in checked) == 4


def test_draws_meet_words_that_are_rejected() -> None:
    draws = entries("samplers", "draws")
    assert {entry["words"] > len(entry["draws"]) for entry in draws if entry["sampler"] == "below"} == {False, True}
    assert any("-" in draw for entry in draws for draw in entry["draws"])
    assert max(entry["words"] for entry in draws) > 512  # of the second page, too
