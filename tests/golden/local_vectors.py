"""Known answers of local trust: what offers cost, and what a device sends."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from maskedbandit.channels.channel import Channel, at_epsilon, epsilon_of
from maskedbandit.channels.local import Local
from maskedbandit.channels.offers import Offer, to_lines
from maskedbandit.channels.response import Response
from maskedbandit.device.local_reports import PROOF_BYTES, draw_local_value, write_local_report
from maskedbandit.device.offer_prices import price_local_offer
from maskedbandit.device.own_place import read_place
from maskedbandit.errors import InvalidValue
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.skellam import Skellam
from maskedbandit.privacy.sampling import Bits
from maskedbandit.privacy.statistics import capped_sum
from tests.golden.fixed_bytes import PAGES, Entry, make_bytes, read_bytes


def make_local_place(channel: Channel, cap: int = 1, further: Sequence[Entry] = (), **changes: Any) -> Entry:
    """A place of local trust, whose outcomes share the epsilon of the channel alike."""
    part = at_epsilon(channel, epsilon_of(channel) / (1 + len(further)))
    offers = [part.carrying(capped_sum(cap)).offer(100).at(7)]
    place: Entry = {"study": "newsletter", "arm": "bold", "ticket": "k3v7", "again": False, "exposed": 1764000000000}
    for each in further:
        own = part.carrying(capped_sum(each.get("cap", 1)))
        offers.append(replace(own.offer(100).at(7), metric=each["name"]))
    place |= {"offer": to_lines(offers), "terms": {"protocol": make_bytes("protocol", 32).hex()}}
    place |= {"window": 21600000, "grace": 86400000, "least": 0, "most": 1, "default": 0} | changes
    place |= {"cap": cap} if cap > 1 else {}
    return {**place, "further": list(further)} if further else place


SPENT: Entry = {"name": "spent", "least": 0, "most": 100, "default": 0, "cap": 2}
GUARD: Entry = {"name": "unsubscribed", "least": 0, "most": 1, "default": 0}
LOCAL_CHANNELS: list[Channel] = [
    *(Response(epsilon=epsilon) for epsilon in (1, Fraction(1, 2), 3)),
    *(Local(epsilon, grid=grid) for epsilon, grid in ((1, 1), (Fraction(1, 3), 10), (2, 255))),
    *(Local(epsilon, DiscreteGaussian(), grid) for epsilon, grid in ((1, 20), (Fraction(1, 4), 7))),
]


def make_local_entry(place: Entry, records: list[tuple[str, float]], first: int) -> Entry:
    """What a device sends that records these, and whose random words begin with this page."""
    read, held = read_place(place), dict[str, Fraction]()
    for metric, value in records:
        held[metric] = read.find_outcome(metric).add_record(held.get(metric), value)
    pages = iter(PAGES[first:])
    bits, values, bodies, proofs = Bits(lambda size: next(pages)), [], [], []
    for outcome in read.outcomes:
        proofs.append(make_bytes(f"proof {len(proofs)}", PROOF_BYTES))
        values.append(draw_local_value(outcome.offer, outcome.scale_outcome(held.get(outcome.metric)), bits))
        bodies.append(write_local_report(read.ticket, values[-1], outcome.metric, read_bytes(proofs[-1])))
    entry: Entry = {"place": place, "records": [list(each) for each in records], "first_page": first}
    return {**entry, "proofs": [each.hex() for each in proofs], "values": values, "bodies": bodies}


def list_local_reports() -> list[Entry]:
    """Whole bodies of requests under local trust."""
    found = []
    for channel in LOCAL_CHANNELS:
        for number, value in enumerate((None, 0, 1, 0.3, 0.5, 1 / 3)):
            records = [] if value is None else [("", value)]
            found.append(make_local_entry(make_local_place(channel), records, number % len(PAGES)))
    bounds = {"least": -2.5, "most": 10, "default": 3}
    for channel in (Response(epsilon=1), Local(epsilon=1, grid=255)):
        for number, values in enumerate(((), (7.25,), (1, 10), (10, 1))):  # the last one counts
            place = make_local_place(channel, **bounds)
            found.append(make_local_entry(place, [("", value) for value in values], number))
        for number, values in enumerate(((), (0.1, 0.2), (1, 0.5), (1,) * 9)):  # they are added up, and cut
            found.append(make_local_entry(make_local_place(channel, 3), [("", value) for value in values], number))
        both = make_local_place(channel, 2, [{**GUARD, "default": 1}])
        for number, records in enumerate(([], [("", 1)], [("unsubscribed", 0)], [("unsubscribed", 0.5), ("", 0.25)])):
            found.append(make_local_entry(both, records, number))
        three = make_local_place(channel, further=[GUARD, SPENT])
        spent = [("spent", value) for value in (20.5, 90, 100)]  # of two that count, at most 200
        for number, records in enumerate(([], [("unsubscribed", 1), *spent[:1]], [("", 1), *spent])):
            found.append(make_local_entry(three, records, number))
    return found


def list_local_lines() -> list[tuple[str, int, str]]:
    """Lines of which some are offers of local trust, each with the cap and the name of the outcome that is offered."""
    good, lines = Local(epsilon=Fraction(1, 2), grid=10).offer(100).at(7), list[tuple[str, int, str]]()
    laplace = good.noise
    assert laplace is not None
    bit = Response(epsilon=1).offer(100).at(7)
    others: list[Entry] = [
        *({"n": n} for n in (49, 50, 2**60)),
        *({"steps": steps} for steps in (0, 1, 2**20, 2**20 + 1)),
        *({"modulus": 256}, {"position": None}, {"metric": "unsubscribed"}),
        *({"channel": name} for name in ("Central", "Raw", "Distributed", "TwoServers", "Response")),
        *({"noise": noise} for noise in (None, laplace._replace(noise="Skellam"), laplace._replace(noise="Laplace"))),
        *({"noise": laplace._replace(scale=scale)} for scale in (Fraction(19), Fraction(21), Fraction(41, 2))),
        *({"noise": laplace._replace(least=2)}, {"noise": laplace._replace(noise="DiscreteGaussian")}),
        *({"terms": terms} for terms in ((), (("epsilon", Fraction(1)),), (("epsilon", Fraction(-1)),))),
        {"terms": (("delta", Fraction(1)), ("epsilon", Fraction(1, 2)))},
    ]
    for channel in LOCAL_CHANNELS:
        lines.append((channel.offer(10**6).at(0).to_text(), 1, ""))
    lines += [(replace(good, **change).to_text(), 1, "") for change in others]
    lines += [
        (replace(bit, **change).to_text(), 1, "") for change in ({"steps": 2}, {"modulus": 2}, {"noise": laplace})
    ]
    least = Fraction(1, 10**6)
    lines += [(replace(bit, terms=(("epsilon", each),)).to_text(), 1, "") for each in (least, least / 2, Fraction(0))]
    lines += [(good.also(cap=3).to_text(), 3, ""), (good.also(cap=3).to_text(), 1, ""), (good.to_text(), 3, "")]
    lines += [(bit.also(cap=3).to_text(), 3, ""), (bit.also(cap=2).to_text(), 3, "")]
    guarded = replace(bit, metric="unsubscribed").to_text()
    lines += [(guarded, 1, "unsubscribed"), (guarded, 1, "complained"), (bit.to_text(), 1, "unsubscribed")]
    lines.append((Local(1, Skellam(), 10).offer(100).at(7).to_text(), 1, ""))
    return lines


def list_local_offers() -> list[Entry]:
    """What an offer costs a person who agreed to cohorts of 50 at least, and perhaps to Gaussian noise."""
    found = []
    for text, cap, metric in list_local_lines():
        for pure in (True, False):
            entry: Entry = {"text": text, "least": 50, "cap": cap, "metric": metric, "pure": pure}
            try:
                entry["epsilon"] = str(price_local_offer(Offer.from_text(text), 50, cap, metric, pure))
            except InvalidValue as wrong:
                entry["refused"] = str(wrong).partition(" is ")[0]
            found.append(entry)
    return found
