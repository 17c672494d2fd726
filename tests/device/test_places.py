"""What a device takes part in: every place that is not as agreed is refused, with the name of what is wrong."""

from dataclasses import replace
from fractions import Fraction

import pytest

from maskedbandit.backends.prio3 import Prio3
from maskedbandit.channels.offers import NoiseShare, Offer
from maskedbandit.channels.two_servers import TwoServers
from maskedbandit.device import Agreed
from maskedbandit.device.offer_prices import price_sealed_offer
from maskedbandit.device.own_place import read_place
from maskedbandit.errors import AlreadySpent, BudgetExceeded, InvalidValue, MaskedBanditError
from maskedbandit.secagg.prio3 import FIELD
from tests.device.fake_leader import KEYS, PINNED, Leader, make_device, make_offer, make_place
from tests.for_each import for_each

OFFER = make_offer()
OTHER = {"name": "Other", "address": "", "seals": "77" * 32, "signs": "88" * 32}


def operators(number, **changes):
    """The usual ones, of whom one is changed."""
    found = make_place()["operators"]
    found[number] |= changes
    return found


def terms(**changes):
    return make_place()["terms"] | changes


def offered(**changes):
    return replace(OFFER, **changes).to_text()


REFUSED = {
    "not an object": ("place", []),
    "a study that is no name": ("study of a place", {"study": "../x"}),
    "no ticket": ("ticket of a place", {"ticket": "K 3"}),
    "again that is no truth": ("again of a place", {"again": 1}),
    "a negative window": ("window of a place", {"window": -1}),
    "a grace that is no whole number": ("grace of a place", {"grace": 1.5}),
    "an exposure of another kind": ("exposed of a place", {"exposed": True}),
    "a default that is no number": ("default of a place", {"default": "0"}),
    "a default out of range": ("default of a place", {"default": 2}),
    "a default that is nan": ("default of a place", {"default": float("nan")}),
    "bounds the wrong way round": ("least and most", {"least": 1, "most": 0}),
    "bounds that are one number": ("least and most", {"least": 2**53, "most": 2**53 + 1, "default": 2**53}),
    "bounds of which one is no number of 64 bits": ("least and most", {"most": 10**400}),
    "a default that is no number of 64 bits": ("default of a place", {"default": -(10**400)}),
    "no protocol": ("protocol of a place", {"terms": terms(protocol="9f")}),
    "no cohort": ("cohort of a place", {"terms": terms(cohort=-1)}),
    "no terms": ("protocol of a place", {"terms": None}),
    "one operator": ("operators of a place", {"operators": operators(0)[:1]}),
    "an operator without a name": ("name of the helper", {"operators": operators(1, name="")}),
    "an address that is none": ("address of the helper", {"operators": operators(1, address="ftp://x")}),
    "keys that are none": ("keys of an operator", {"operators": operators(0, seals="5b")}),
    "another key of the leader": ("keys of the leader", {"operators": operators(0, seals="77" * 32)}),
    "another signature of the helper": ("keys of the helper", {"operators": operators(1, signs="77" * 32)}),
    "another helper": ("keys of the helper", {"operators": [operators(0)[0], OTHER]}),
    "operators who changed places": ("keys of the leader", {"operators": operators(0)[::-1]}),
    "the leader twice": ("keys of the helper", {"operators": [operators(0)[0]] * 2}),
    "no offer": ("text of offers", {"offer": None}),
    "two offers": ("offers of a place", {"offer": f"{OFFER.to_text()}\n{OFFER.to_text()}"}),
    "no position": ("position of an offer", {"offer": offered(position=None)}),
    "a position out of the cohort": ("text of an offer", {"offer": offered().replace("position=7", "position=100")}),
    "another channel": ("channel of an offer", {"offer": offered(channel="Central")}),
    "no steps": ("steps of an offer", {"offer": offered(steps=0)}),
    "too many steps": ("steps of an offer", {"offer": offered(steps=2**20 + 1)}),
    "another modulus": ("modulus of an offer", {"offer": offered(modulus=2**20)}),
    "a modulus below the field": ("modulus of an offer", {"offer": offered(modulus=FIELD - 1)}),
    "no noise": ("noise of an offer", {"offer": offered(noise=None)}),
    "another noise": ("noise of an offer", {"offer": offered(noise=NoiseShare("Skellam", Fraction(255), 1))}),
    "less noise": ("noise of an offer", {"offer": offered(noise=NoiseShare("DiscreteLaplace", Fraction(254), 1))}),
    "noise in shares": ("noise of an offer", {"offer": offered(noise=NoiseShare("DiscreteLaplace", Fraction(255), 2))}),
    "no epsilon": ("epsilon of an offer", {"offer": offered(terms=())}),
    "a negative epsilon": ("epsilon of an offer", {"offer": offered(terms=(("epsilon", Fraction(-1)),))}),
    "a smaller epsilon than its noise": ("noise of an offer", {"offer": offered(terms=(("epsilon", Fraction(1, 2)),))}),
    "more terms": ("cap of an offer", {"offer": OFFER.also(cap=3).to_text()}),
    "another outcome": ("metric of an offer", {"offer": offered(metric="unsubscribed")}),
    "a small cohort": ("n of an offer", {"offer": make_offer(n=49).to_text()}),
    "a cohort that does not fit": ("n of an offer", {"offer": offered(n=2**60)}),
    "more epsilon": ("epsilon of an offer", {"offer": make_offer(epsilon=Fraction(11, 10)).to_text()}),
}


def check_refusal(what, folder):
    name, changes = REFUSED[what]
    leader = Leader()
    device = make_device(folder / what.replace(" ", "_"), leader, agreed=Agreed(1, PINNED, least=50))
    place = make_place(**changes) if isinstance(changes, dict) else changes
    with pytest.raises((InvalidValue, BudgetExceeded), match=name):
        device.join(place)
    device.contact()
    assert device.show() == []
    assert leader.seen == []
    device.join(make_place())  # a place that was refused takes nothing
    device.close()
    assert len(leader.seen) == 1


@for_each("what", REFUSED)
def test_what_is_not_as_agreed_is_refused(what, tmp_path) -> None:
    check_refusal(what, tmp_path)


def test_a_place_as_agreed_is_taken(tmp_path) -> None:
    leader = Leader()
    device = make_device(tmp_path / "device", leader)
    device.join(make_place(payload={"more": "than is read"}))
    (shown,) = device.show()
    device.close()
    assert (shown.study, shown.arm, shown.epsilon, shown.ended) == ("newsletter", "bold", 1, "")
    assert [each.keys for each in shown.operators] == KEYS
    assert [each.name for each in shown.operators] == ["Clinic", "University"]


def test_what_nobody_has_said_yet_is_seen_now(tmp_path) -> None:
    """The window begins when the device joins, and not anew when it joins again."""
    leader, place = Leader(), make_place(exposed=None)
    device = make_device(tmp_path / "device", leader)
    device.join(place)
    begun = int(device._clock() * 1000)
    device._clock = lambda: begun / 1000 + 1
    device.join(place)
    ((booked),) = device._book.places()
    device.close()
    assert booked.place.exposed == begun
    del place["exposed"]
    with pytest.raises(InvalidValue, match="exposed of a place"):
        make_device(tmp_path / "other", leader).join(place)


@for_each("n", [1, 2, 99, 10**6])
@for_each("steps", [1, 2, 255, 1000])
@for_each("epsilon", [Fraction(1, 10), Fraction(1), Fraction(7, 3)])
def test_a_device_accepts_what_the_channel_offers(n, steps, epsilon) -> None:
    channel = TwoServers(epsilon=epsilon, grid=steps, backend=Prio3())
    offer = channel.offer(n).at(n - 1)
    channel.check_offer(offer)
    assert price_sealed_offer(offer, 1) == epsilon


def test_a_device_refuses_what_the_channel_refuses() -> None:
    """It computes the promise without the channel, which needs more packages: both refuse the same."""
    channel, compared = TwoServers(epsilon=1, grid=255, backend=Prio3()), 0
    for name, changes in REFUSED.values():
        text = changes.get("offer") if isinstance(changes, dict) else None
        if not text or "\n" in text or name.startswith(("text", "position", "metric", "n of")):
            continue
        offer, compared = Offer.from_text(text), compared + 1
        if name == "epsilon of an offer" and offer.terms and dict(offer.terms)["epsilon"] > 0:
            continue  # more than this person agreed to
        with pytest.raises(InvalidValue):
            channel.check_offer(offer)
        with pytest.raises(InvalidValue):
            price_sealed_offer(offer, 1)
    assert compared > 10


@for_each("what", ["less noise", "noise in shares", "another noise", "a small cohort"])
def test_a_device_that_checks_no_offer_is_found(what, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("maskedbandit.device.agreed.price_sealed_offer", lambda *_: Fraction(1))
    with pytest.raises(pytest.fail.Exception):
        check_refusal(what, tmp_path)


@for_each("what", ["another key of the leader", "another helper"])
def test_a_device_that_checks_no_key_is_found(what, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(Agreed, "check", lambda agreed, place, spent: Fraction(1))
    with pytest.raises(pytest.fail.Exception):
        check_refusal(what, tmp_path)


STRANGE = [(0, PINNED, 1), (-1, PINNED, 1), ("x", PINNED, 1), (float("inf"), PINNED, 1), (True, PINNED, 1)]
STRANGE += [(1, PINNED[:1], 1), (1, PINNED[:1] * 2, 1), (1, ("5B" * 32, PINNED[1]), 1), (1, list(PINNED), 1)]
STRANGE += [(1, PINNED, 0), (1, PINNED, 1.0)]


@for_each("given", STRANGE)
def test_only_what_makes_sense_is_agreed_to(given) -> None:
    with pytest.raises(InvalidValue, match=r"epsilon|operators|least"):
        Agreed(*given)


def other_study(number, **changes):
    """A place of another study."""
    return make_place(study=f"study{number}", ticket=f"t{number}", terms=terms(protocol=f"{number:064x}"), **changes)


def test_all_studies_together_cost_no_more_than_agreed(tmp_path) -> None:
    device = make_device(tmp_path / "device", Leader(), agreed=Agreed("0.25", PINNED))
    tenth = make_offer(epsilon=Fraction(1, 10)).to_text()
    device.join(other_study(1, offer=tenth))
    device.join(other_study(2, offer=tenth))
    with pytest.raises(BudgetExceeded, match=r"epsilon of an offer is 1/10: .* at most 1/4"):
        device.join(other_study(3, offer=tenth))
    device.leave("study1")  # it may be in a sum by now
    with pytest.raises(BudgetExceeded):
        device.join(other_study(3, offer=tenth))
    device.join(other_study(3, offer=make_offer(epsilon=Fraction(1, 20)).to_text()))
    assert sum(each.epsilon for each in device.show()) == Fraction(1, 4)
    device.close()


class TestOnePlace:
    @pytest.fixture
    def device(self, tmp_path):
        made = make_device(tmp_path / "device", Leader(), agreed=Agreed(10, PINNED))
        yield made
        made.close()

    def test_the_same_again_is_a_contact(self, device) -> None:
        device.join(make_place())
        device.join(make_place(again=True))
        (shown,) = device.show()
        assert [each.turn for each in shown.sent] == [0, 1]

    @for_each("change", [{"ticket": "other"}, {"terms": terms(protocol="aa" * 32)}, {"study": "other"}])
    def test_a_study_gets_no_second_place(self, change, tmp_path) -> None:
        """Neither by another ticket, nor as another protocol of the name, nor under another name."""
        device = make_device(tmp_path / str(len(str(change))), Leader(), agreed=Agreed(10, PINNED))
        device.join(make_place())
        place = make_place(**change)
        if "terms" in change:
            place["ticket"] = "other"
        with pytest.raises(AlreadySpent, match="another place"):
            device.join(place)
        assert len(device.show()) == 1
        device.close()

    def test_a_device_that_lost_its_book_sends_nothing(self, device) -> None:
        with pytest.raises(AlreadySpent, match="not the first"):
            device.join(make_place(again=True))
        with pytest.raises(AlreadySpent, match="not the first"):
            device.join(make_place(again=False))
        device.contact()
        assert device.record("newsletter", 1) is False
        (shown,) = device.show()
        assert (shown.ended, shown.sent, shown.epsilon) == ("elsewhere", (), 1)
        assert device._calls._make().leader.seen == []

    def test_after_leaving_there_is_no_second_place(self, device) -> None:
        device.join(make_place())
        device.leave("newsletter")
        with pytest.raises(AlreadySpent, match="left"):
            device.join(make_place())


def test_refusals_show_no_secret() -> None:
    for change in ({"ticket": "SECRET TICKET"}, {"study": "SECRET/"}, {"terms": {"protocol": "SECRET"}}):
        with pytest.raises(MaskedBanditError) as wrong:
            read_place(make_place(**change))
        assert "SECRET" not in str(wrong.value)
