"""A device under local trust: one number with noise for each outcome, at the end of the window, whatever happened."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from maskedbandit.channels.channel import part_of
from maskedbandit.channels.local import Local
from maskedbandit.channels.response import Response
from maskedbandit.device import Agreed
from maskedbandit.device.device_book import BOOK_FILE
from maskedbandit.device.own_place import read_place
from maskedbandit.device.service_calls import ServiceCalls
from maskedbandit.errors import AlreadySpent, BudgetExceeded, InvalidValue, PersonalValue
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.skellam import Skellam
from maskedbandit.privacy.renyi_divergences import ORDERS
from maskedbandit.privacy.sampling import Bits
from maskedbandit.privacy.statistics import capped_sum
from tests.device.fake_leader import (
    EXPOSED,
    GRACE,
    HOUR,
    KEY,
    LOCAL,
    PINNED,
    STUDY,
    TICKET,
    WINDOW,
    Leader,
    make_device,
    make_local_place,
    make_place,
)
from tests.for_each import for_each

HARM = "harm"
SURE = Response(700)  # of two outcomes each is told: what is said is what holds


def offer_both(channel, cap=1, share=Fraction(1, 2)):
    """The offers of a reward and a guardrail that share the epsilon of a channel."""
    first, second = part_of(channel, channel.epsilon * (1 - share)), part_of(channel, channel.epsilon * share)
    lines = first.carrying(capped_sum(cap)).offer(100).at(7), replace(second.offer(100).at(7), metric=HARM)
    return "\n".join(line.to_text() for line in lines)


def make_sure_place(cap=1, **changes):
    """A place whose reports say what holds."""
    offer = SURE.carrying(capped_sum(cap)).offer(100).at(7).to_text()
    return make_local_place(**({"offer": offer} | ({"cap": cap} if cap > 1 else {}) | changes))


@pytest.fixture
def leader():
    return Leader()


@pytest.fixture
def device(leader, tmp_path):
    made = make_device(tmp_path / "device", leader, agreed=Agreed(2000), key=KEY)
    yield made
    made.close()


def finish(leader, device, hours=1):
    """The application runs again after the window."""
    leader.time = EXPOSED + WINDOW + hours * HOUR
    device.contact()


def said(leader):
    """What the service has of each outcome."""
    return {metric: body["value"] for metric, body in leader.reports.items()}


class TestReports:
    def test_one_at_the_end_of_the_window(self, leader, device) -> None:
        device.join(make_sure_place())
        device.record(STUDY, 1)
        for hour in (1, 5, 6, 8, 20):
            leader.time = EXPOSED + hour * HOUR
            device.contact()
        assert [message.time for message in leader.seen] == [EXPOSED + WINDOW]
        assert said(leader) == {"": 1}
        (report,) = device.show()[0].sent
        assert (report.turn, report.says, report.answer, report.size) == (0, 1, "accepted", len(leader.bodies[0]))

    def test_who_recorded_nothing_reports_the_default(self, leader, device) -> None:
        device.join(make_sure_place(default=1))
        finish(leader, device)
        assert said(leader) == {"": 1}

    def test_outcomes_are_in_the_units_of_the_study_and_the_last_one_counts(self, leader, device) -> None:
        device.join(make_sure_place(least=-10, most=10, default=-10))
        device.record(STUDY, -10)
        device.record(STUDY, 10)
        finish(leader, device)
        assert said(leader) == {"": 1}

    def test_nothing_is_sent_too_late(self, leader, device) -> None:
        device.join(make_sure_place())
        leader.time = EXPOSED + WINDOW + GRACE + 1
        device.contact()
        assert leader.seen == []

    def test_with_a_guardrail_there_are_two_together(self, leader, device) -> None:
        device.join(make_local_place(offer=offer_both(Response(1400)), further=[{"name": HARM, "default": 1}]))
        device.record(STUDY, 1)
        finish(leader, device)
        assert said(leader) == {"": 1, HARM: 1}
        assert {message.time for message in leader.seen} == {EXPOSED + WINDOW + HOUR}
        assert [each.metric for each in device.show()[0].sent] == ["", HARM]

    def test_the_guardrail_is_recorded_by_its_name(self, leader, device) -> None:
        guardrail = {"name": HARM, "least": -1, "most": 4, "default": -1}
        device.join(make_local_place(offer=offer_both(Response(1400)), further=[guardrail]))
        device.record(STUDY, 4, HARM)
        with pytest.raises(InvalidValue, match="metric is 'other': it must be harm or left out"):
            device.record(STUDY, 1, "other")
        with pytest.raises(PersonalValue, match="from -1 to 4"):
            device.record(STUDY, 5, HARM)
        finish(leader, device)
        assert said(leader) == {"": 0, HARM: 1}

    def test_a_header_has_the_key(self, leader, device) -> None:
        device.join(make_sure_place())
        finish(leader, device)
        assert ("authorization", f"Bearer {KEY}") in leader.seen[0].head

    def test_the_size_of_a_report_does_not_depend_on_its_number(self, leader, tmp_path) -> None:
        sizes = set()
        for number, epsilon in enumerate((Fraction(1, 10**6), 1, 10)):
            device = make_device(tmp_path / str(number), leader, agreed=Agreed(100), key=KEY)
            device.join(make_local_place(offer=Local(epsilon, grid=255).offer(100).at(7).to_text()))
            finish(leader, device)
            leader.time = EXPOSED
            sizes.add(leader.seen[-1].size)
            device.close()
        assert len(sizes) == 1


class TestRewardsThatAreAddedUp:
    @for_each("rewards", [[], [1], [1, 0.5], [0.1, 0.2, 0.3], [1] * 9])
    def test_the_sum_is_cut_at_the_cap(self, rewards, tmp_path) -> None:
        device = make_device(tmp_path / str(len(rewards)), Leader(), agreed=Agreed(2000), key=KEY)
        device.join(make_sure_place(cap=3, most=1))
        for reward in rewards:
            device.record(STUDY, reward)
        held = device._book.find(STUDY).held.get("")
        device.close()
        assert held == (min(sum(map(Fraction, rewards)), 3) if rewards else None)

    def test_all_that_count_are_the_highest(self, leader, device) -> None:
        device.join(make_sure_place(cap=3, most=2))
        for _ in range(3):
            device.record(STUDY, 2)
        finish(leader, device)
        assert said(leader) == {"": 1}

    def test_two_operators_are_told_the_sum_as_well(self, leader, tmp_path) -> None:
        device = make_device(tmp_path / "two", leader)
        plain = read_place(make_place()).offer
        device.join(make_place(cap=3, offer=plain.also(cap=3).to_text()))
        for reward in (1, 0.5):
            device.record(STUDY, reward)
        assert device._book.find(STUDY).steps in (127, 128)
        for _ in range(3):
            device.record(STUDY, 1)
        assert device._book.find(STUDY).steps == 255
        device.close()


class TestRetries:
    @for_each("fault", ["lost", "unanswered", 401, 403, 429, 500, 503])
    def test_the_same_bytes_until_there_is_an_answer(self, fault, tmp_path) -> None:
        leader = Leader()
        leader.faults = {0: fault, 1: fault, 2: fault}
        for hour in range(6):  # each time by another process
            device = make_device(tmp_path / str(fault), leader, key=KEY)
            device.join(make_local_place())
            finish(leader, device, hour)
            device.record(STUDY, 1)
            device.close()
        assert len(leader.bodies) == 4
        assert len(set(leader.bodies)) == 1

    def test_the_number_is_in_the_book_before_it_is_sent(self, leader, tmp_path, monkeypatch) -> None:
        device = make_device(tmp_path / "device", leader, key=KEY)
        device.join(make_local_place())
        stopped = []

        def stop(calls, requests):
            stopped.extend(each.body for each in requests)
            if requests:
                raise SystemExit
            return []

        with monkeypatch.context() as patch:
            patch.setattr(ServiceCalls, "post", stop)
            with pytest.raises(SystemExit):
                finish(leader, device)
        device.close()
        device = make_device(tmp_path / "device", leader, key=KEY)
        finish(leader, device, 2)
        device.close()
        assert [body.decode() for body in leader.bodies] == stopped

    def test_two_processes_send_the_same(self, leader, device, tmp_path) -> None:
        leader.faults = {0: "unanswered"}
        device.join(make_local_place())
        other = make_device(tmp_path / "device", leader, agreed=Agreed(2000), key=KEY)
        leader.time = EXPOSED + WINDOW
        for each in (device, other, device):
            each.contact()
        other.close()
        assert len(leader.bodies) == 2
        assert len(set(leader.bodies)) == 1

    def test_of_two_reports_the_one_without_an_answer_is_sent_again(self, leader, device) -> None:
        leader.faults = {0: "unanswered"}
        device.join(make_local_place(offer=offer_both(LOCAL), further=[{"name": HARM, "default": 0}]))
        for hour in (1, 2, 3):
            finish(leader, device, hour)
        assert [json.loads(body)["metric"] for body in leader.bodies] == ["", HARM, ""]
        assert [each.answer for each in device.show()[0].sent] == ["duplicate", "accepted"]

    def test_nothing_is_drawn_after_leaving(self, leader, device, tmp_path) -> None:
        device.join(make_sure_place())
        device.record(STUDY, 1)
        device.leave(STUDY)
        finish(leader, device)
        assert leader.left == [TICKET]
        assert leader.reports == {}
        with pytest.raises(AlreadySpent, match="left"):
            device.join(make_sure_place())
        assert TICKET.encode() + b'"' not in (tmp_path / "device" / BOOK_FILE).read_bytes()

    def test_no_random_words_are_kept_for_the_next_draw(self, leader, device) -> None:
        """A process that is copied with its memory would draw the same noise about two outcomes."""
        device.join(make_sure_place())
        device.record(STUDY, 1)
        finish(leader, device)
        assert leader.seen
        assert not any(isinstance(each, Bits) for each in vars(device).values())

    def test_a_device_that_lost_its_book_sends_nothing(self, leader, device) -> None:
        with pytest.raises(AlreadySpent, match="not the first"):
            device.join(make_sure_place(again=True))
        device.record(STUDY, 1)
        finish(leader, device)
        assert leader.seen == []

    def test_without_a_key_nothing_more_is_sent(self, leader, device, tmp_path) -> None:
        device.join(make_sure_place())
        device.close()
        other = make_device(tmp_path / "device", leader)
        finish(leader, other)
        other.close()
        assert leader.seen == []


REFUSED = {
    "no key": ("key is None", {}, {"key": None}),
    "a key of another study": ("key is None", {}, {"key": {"other": KEY}}),
    "no time after the window": ("grace of a place", {"grace": 0}, {}),
    "more epsilon": ("epsilon of an offer", {"offer": Local(2, grid=255).offer(100).at(7).to_text()}, {}),
    "more epsilon together": (
        "epsilon of an offer is 3/2",
        {"offer": offer_both(Local("3/2")), "further": [{"name": HARM, "default": 0}]},
        {},
    ),
    "gaussian noise": ("noise of an offer", {"offer": Local(1, DiscreteGaussian(), 9).offer(100).at(7).to_text()}, {}),
    "a small cohort": ("n of an offer", {"offer": LOCAL.offer(49).at(7).to_text()}, {}),
    "two operators whom nobody named": ("operators of a place", {"operators": make_place()["operators"]}, {}),
    "a guardrail without an offer": ("offers of a place", {"further": [{"name": HARM, "default": 0}]}, {}),
    "an offer without a guardrail": ("offers of a place", {"offer": offer_both(LOCAL)}, {}),
    "an offer for another guardrail": (
        "metric of an offer",
        {"offer": offer_both(LOCAL), "further": [{"name": "other", "default": 0}]},
        {},
    ),
    "a guardrail without a name": ("name of a further outcome", {"further": [{"default": 0}]}, {}),
    "a guardrail that is a text": ("further outcomes of a place", {"further": HARM}, {}),
    "a guardrail out of range": ("default of harm", {"further": [{"name": HARM, "default": 2}]}, {}),
    "a cap that is not offered": ("cap of an offer", {"cap": 3}, {}),
    "a cap that is no number": ("cap of a place", {"cap": "3"}, {}),
    "a cap of none": ("cap of a place", {"cap": 0}, {}),
    "a cap below zero": (
        "least of a place",
        {"cap": 3, "least": -1, "offer": LOCAL.carrying(capped_sum(3)).offer(100).at(7).to_text()},
        {},
    ),
    "a cap that is offered alone": (
        "cap of an offer",
        {"offer": LOCAL.carrying(capped_sum(3)).offer(100).at(7).to_text()},
        {},
    ),
    "a sum that nobody hides": ("channel of an offer", {"offer": read_place(make_place()).offer.to_text()}, {}),
}


def check_refusal(what, folder):
    """Raise unless a place is refused by name, and nothing is stored or sent."""
    name, changes, options = REFUSED[what]
    leader, usual = Leader(), {"agreed": Agreed(1, least=50), "key": KEY}
    device = make_device(folder / what.replace(" ", "_"), leader, **(usual | options))
    place = make_local_place(**changes)
    if "operators" in changes:
        place["terms"] = make_place()["terms"]
    with pytest.raises((InvalidValue, BudgetExceeded), match=name):
        device.join(place)
    finish(leader, device)
    assert device.show() == []
    assert leader.seen == []
    device.close()


@for_each("what", REFUSED)
def test_what_is_not_as_agreed_is_refused(what, tmp_path) -> None:
    check_refusal(what, tmp_path)


@for_each("what", ["more epsilon", "more epsilon together", "gaussian noise", "a small cohort"])
def test_a_device_that_checks_no_offer_is_found(what, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("maskedbandit.device.agreed.price_local_offer", lambda *_: Fraction(1, 4))
    with pytest.raises(pytest.fail.Exception):
        check_refusal(what, tmp_path)


@for_each("epsilon", [Fraction(1, 3), 1, 5])
@for_each("cap", [1, 4])
@for_each("share", [None, Fraction(1, 4)])
def test_a_device_accepts_what_local_channels_offer(epsilon, cap, share) -> None:
    gaussian = Local(epsilon, DiscreteGaussian(), 200)
    for channel in (Response(epsilon), Local(epsilon), Local(epsilon, grid=255), gaussian):
        guardrail = {} if share is None else {"further": [{"name": HARM, "default": 0}]}
        offer = channel.carrying(capped_sum(cap)).offer(100).at(7).to_text()
        offer = offer if share is None else offer_both(channel, cap, share)
        place = read_place(make_local_place(offer=offer, **({"cap": cap} if cap > 1 else {}), **guardrail))
        assert Agreed(5, least=100, pure=channel is not gaussian).check(place, Fraction(0)) == epsilon


def test_an_offer_costs_no_more_than_it_says() -> None:
    """The loss of what is accepted is that of the channel, for the largest part of what the person agreed to."""
    for channel in (Response(2), Local(2, grid=3)):
        assert channel.loss(100).pure_epsilon <= 2
    curve = Local(2, DiscreteGaussian(), 50).loss(100).curve
    assert all(cost <= 2**2 / 2 * order for cost, order in zip(curve, ORDERS, strict=True))


def test_skellam_noise_is_left_to_applications_that_name_the_channel() -> None:
    place = read_place(make_local_place(offer=Local(1, Skellam(), 9).offer(100).at(7).to_text()))
    for pure in (True, False):
        with pytest.raises(InvalidValue, match="noise of an offer is 'Skellam'"):
            Agreed(1, pure=pure).check(place, Fraction(0))


def test_both_kinds_of_studies_share_what_was_agreed(tmp_path) -> None:
    device = make_device(tmp_path / "device", Leader(), agreed=Agreed("3/2", PINNED), key=KEY)
    device.join(make_place())
    with pytest.raises(BudgetExceeded, match="at most 3/2"):
        device.join(make_local_place(study="other", terms={"protocol": "aa" * 32}))
    half = Response("1/2").offer(100).at(7).to_text()
    device.join(make_local_place(study="other", terms={"protocol": "aa" * 32}, offer=half))
    shown = device.show()
    device.close()
    assert [(each.epsilon, len(each.operators)) for each in shown] == [(1, 2), (Fraction(1, 2), 0)]


@for_each("pure", [0, None, "yes"])
def test_pure_is_a_truth(pure) -> None:
    with pytest.raises(InvalidValue, match="pure"):
        Agreed(1, pure=pure)


@for_each("key", ["", "a b", 1, {"newsletter": None}, "é"])
def test_a_key_is_not_shown(key, tmp_path) -> None:
    with pytest.raises(InvalidValue, match="key is 'not shown'"):
        make_device(tmp_path, Leader(), key=key)
