"""Known answers of studies with a shuffler: what offers cost, and what a device sends."""

from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

from maskedbandit.channels.offers import NoiseShare, Offer
from maskedbandit.channels.shuffled import Shuffled
from maskedbandit.channels.split_and_mix import SplitAndMix
from maskedbandit.device import shuffled_reports
from maskedbandit.device.offer_prices import price_mixed_offer
from maskedbandit.device.own_place import read_place
from maskedbandit.device.shuffled_reports import draw_bundle, read_mixing_channel, seal_bundle_report
from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.exact import Number
from maskedbandit.privacy.sampling import Bits
from maskedbandit.shuffle import envelopes, sealed_messages
from tests.golden.fixed_bytes import PAGES, Entry, make_bytes
from tests.golden.fixed_operators import make_place
from tests.golden.fixed_seals import FixedSuite

COINS = Shuffled(1, "1/1000000", honest="3/4")
SHARES = SplitAndMix(1, eta="1/1000000", honest="1/2", grid=5)
TINY = Fraction(1, 10**101)


def list_mixed_lines() -> list[str]:
    """Lines of which some are offers of a study with a shuffler, and some only look like one."""
    coins, shares = COINS.offer(100).at(7), SHARES.offer(100).at(7)
    laplace = shares.noise
    assert laplace is not None
    both: list[Entry] = [
        *({"n": n} for n in (50, 101, 2**60)),
        *({"steps": steps} for steps in (0, 1, 2, 2**20 + 1)),
        *({"modulus": modulus} for modulus in (0, 2, 500, 501, shares.modulus * 2, 2**62, 2**62 + 1, 2**64)),
        *({"channel": name} for name in ("Shuffled", "SplitAndMix", "Distributed", "PureShuffled")),
        *({"noise": noise} for noise in (None, NoiseShare("Skellam", Fraction(5), 50))),
        *({"noise": laplace._replace(scale=scale)} for scale in (Fraction(4), Fraction(11, 2))),
        *({"noise": laplace._replace(least=least)} for least in (1, 2, 49, 51, 100)),
        *({"terms": terms} for terms in ((), (("epsilon", Fraction(1)),))),
        *({"position": position} for position in (None, 0, 99)),
        {"metric": "unsubscribed"},
        {"n": 49, "noise": None},
        {"steps": 10**6 + 1, "modulus": 2**40},
    ]
    epsilons = *(Fraction(1, d) for d in (2000, 1000, 3, 10**6 + 1)), Fraction(2), Fraction(61), Fraction(10**4)
    of_both: list[Entry] = [*({"epsilon": epsilon} for epsilon in epsilons), {"cap": 3}]
    of_coins: list[Entry] = [
        *({"coins": number} for number in (0, 1, 106, 108, 8192, 8193)),
        *({"needed": number} for number in (0, Fraction(1, 2), 79, Fraction(161, 2), 81, 107, 108)),
        *({"delta": delta} for delta in (0, Fraction(1, 10**7), Fraction(1, 10**5), 1, 2)),
        {"delta": Fraction(9, 10), "epsilon": Fraction(1, 2000)},  # few coins are enough for it
        {"delta": TINY, "epsilon": 60},
        {"delta": Fraction(9, 10), "epsilon": 60, "coins": 101, "needed": 1},
        {"delta": Fraction(9, 10), "epsilon": 60, "coins": 100, "needed": 1},
        {"coins": Fraction(5, 2), "needed": Fraction(3, 2)},
        {"eta": Fraction(1, 2)},
    ]
    of_shares: list[Entry] = [
        *({"eta": eta} for eta in (0, Fraction(1, 10**7), Fraction(1, 10), Fraction(1, 2**257), Fraction(1, 3), 1)),
        *({"messages": number} for number in (1, int(dict(shares.terms)["messages"]) - 1, 50)),
        {"delta": Fraction(1, 10**5)},
    ]
    found = [replace(good, **change).to_text() for good in (coins, shares) for change in both]
    for good, changes in ((coins, of_both + of_coins), (shares, of_both + of_shares)):
        found += [good.also(**change).to_text() for change in changes]
    return list_channels_offers() + found


COINS_OFFERED: list[tuple[Number, Number, Number]] = [
    *((epsilon, "1/1000000", 1) for epsilon in ("1/2", 1, "7/3", 5, 59, 60, 61, 200)),
    *((1, delta, "3/4") for delta in ("1/2", "1/100", "1/100000", f"1/{10**12}", f"1/{10**100}")),
    *((2, "1/1000", honest) for honest in ("1/3", "5/7", "1/100")),
    ("1/10", "1/1000000", 1),
    ("1/20", "1/1000000", 1),
]
SHARES_OFFERED: list[tuple[Number, Number, Number, int, int]] = [
    *((1, f"1/{2**40}", 1, 1, n) for n in (50, 60, 64, 100, 511, 512, 1000, 10**6, 10**12)),
    *((epsilon, f"1/{10**9}", "4/5", 1, 100) for epsilon in ("1/10", "1/3", 2, 20)),
    *((1, eta, "1/2", 10, 300) for eta in ("1/10", f"1/{2**60}", f"1/{2**256}", "3/1000000")),
    *((1, "1/1000000", honest, 255, 70) for honest in ("1/35", "3/70", "1/3", "69/70")),
    (1, "1/1000", 1, 10**6, 2000),
]


def list_channels_offers() -> list[str]:
    """What channels offer."""
    coins = [Shuffled(*given).offer(60).at(59).to_text() for given in COINS_OFFERED]
    shares = [
        SplitAndMix(epsilon, eta, honest, grid=grid).offer(n).at(n - 1).to_text()
        for epsilon, eta, honest, grid, n in SHARES_OFFERED
    ]
    return coins + shares


def list_mixed_offers() -> list[Entry]:
    """What an offer costs a person who agreed to cohorts of 50 at least, one or three of whose rewards count."""
    found = []
    lines = list_mixed_lines()
    for text, cap in [*((text, 1) for text in lines), (COINS.offer(100).at(7).to_text(), 3)]:
        entry: Entry = {"text": text, "least": 50, "cap": cap}
        try:
            epsilon, delta = price_mixed_offer(Offer.from_text(text), 50, cap)
            entry |= {"epsilon": str(epsilon), "delta": str(delta)}
        except InvalidValue as wrong:
            entry["refused"] = str(wrong).partition(" is ")[0]
        found.append(entry)
    return found


def make_bundle_entry(offer: Offer, steps: int, first: int, **changes: Any) -> Entry:
    """What a device sends that reports so many steps, and whose random words begin with this page."""
    place, channel, name = make_place(offer, **changes), read_mixing_channel(offer), f"bundle {offer.to_text()} {steps}"
    bits, shown = read_pages(first), make_bytes(f"{name} pass", 64).hex()
    sent: Any = channel.randomize(Fraction(steps, offer.steps), offer, bits)
    messages = channel.bundle(sent, offer, bits)
    ephemeral = [make_bytes(f"{name} {number}", 32) for number in range(len(messages) + 1)]
    suite = FixedSuite(iter(ephemeral))
    with (
        patch.object(shuffled_reports, "Bits", lambda: read_pages(first)),
        patch.object(sealed_messages, "MESSAGE_SUITE", suite),
        patch.object(envelopes, "MESSAGE_SUITE", suite),
    ):
        body = seal_bundle_report(read_place(place), draw_bundle(read_place(place), steps), shown)
    entry: Entry = {"place": place, "steps": steps, "shown": shown, "first_page": first}
    entry |= {"messages": [str(message) for message in messages], "ephemeral": [each.hex() for each in ephemeral]}
    return {**entry, "body": body}


def read_pages(first: int) -> Bits:
    """Bits from a page on."""
    pages = iter(PAGES[first:])
    return Bits(lambda size: next(pages))


def list_bundles() -> list[Entry]:
    """Whole bodies of requests to a shuffler."""
    found = []
    for n, position in ((100, 7), (9, 3), (1, 0)):  # of two coins or none, of a dozen, and of more than a word
        for steps in (0, 1):
            found.append(make_bundle_entry(COINS.offer(n).at(position), steps, steps))
    for channel, n in ((SHARES, 9), (SplitAndMix(epsilon="1/3", honest="4/5"), 1000)):
        offer = channel.offer(n).at(2)
        for number, steps in enumerate((0, offer.steps)):
            found.append(make_bundle_entry(offer, steps, number, ticket=f"t{number}"))
    return found
