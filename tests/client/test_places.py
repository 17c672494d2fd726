"""With local trust one folder draws for a person, once: the one that was told of the place when it was new."""

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from openfeature import api
from openfeature.evaluation_context import EvaluationContext

from maskedbandit.channels.local import Local
from maskedbandit.client.local_noise import NoisyReport, add_report_noise
from maskedbandit.client.openfeature import MaskedBanditProvider
from maskedbandit.client.outbox import Outbox
from maskedbandit.client.places import KnownArms, hash_unit
from maskedbandit.errors import AlreadySpent, PersonalValue, StorageFailed
from tests.client.conftest import Made
from tests.client.fake_service import KEY, STUDY, URL, FakeService, Network

CHANNEL = Local(epsilon="1/1000000")  # of four draws all are the same in 1 of 10^18 runs
OFFER = CHANNEL.offer(50).at(7).to_text()
Draw = Callable[[Fraction], NoisyReport]


@pytest.fixture
def service() -> FakeService:
    return FakeService(offer=OFFER)


def reports(network: Network) -> int:
    """How often a service was told an outcome."""
    return sum(path.endswith("/report/batch") for path, _ in network.sent)


def visit(client: Made, unit: str = "ann", **options: Any) -> str | None:
    """A person comes, sees the arm and has an outcome: the ticket."""
    one = client(channel=CHANNEL, **options)
    ticket = one.assign(unit).ticket
    one.expose(ticket)
    with suppress(AlreadySpent, PersonalValue):
        one.report(ticket, 1)
    assert one.flush()
    one.close()
    return ticket


def take_every_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant that takes every place that it is told of."""
    real = Outbox.take_place

    def mutant(self: Outbox, study: str, person: str, ticket: str, again: bool) -> bool:
        return real(self, study, person, ticket, False)

    monkeypatch.setattr(Outbox, "take_place", mutant)


def note_every_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant that writes down whom it asks for, and takes a place that comes again after an ask without answer.

    It cannot tell its own lost answer from one that would have said that the place is not new.
    """
    real = Outbox.take_place
    asked: set[tuple[Path, str]] = set()

    def mutant(self: Outbox, study: str, person: str, ticket: str, again: bool) -> bool:
        return real(self, study, person, ticket, again and (self._file.path, person) not in asked)

    def note(self: KnownArms, study: str, unit: str, find: Any = KnownArms.find) -> Any:
        asked.add((self._file.path.with_suffix(".outbox"), hash_unit(unit)))  # only an ask without an answer comes here
        return find(self, study, unit)

    monkeypatch.setattr(Outbox, "take_place", mutant)
    monkeypatch.setattr(KnownArms, "find", note)


# --- a folder that was lost, or is another


def after_a_loss(client: Made, network: Network, tmp_path: Path, lost: list[str | None]) -> int:
    """How many draws of an outcome are sent, if the folder is lost and these faults await the new one's first asks."""
    visit(client, folder=tmp_path / "old")
    faults = iter(lost)
    for _ in range(3):
        network.fault = lambda path: next(faults, None) if path.endswith("assign") else None
        visit(client, folder=tmp_path / "new")
    return reports(network)


@pytest.mark.parametrize("lost", [[], ["drop response"], ["drop response"] * 2, ["drop request"] * 2, ["unavailable"]])
def test_a_folder_that_was_lost_draws_nothing_again(client, network, tmp_path, lost) -> None:
    assert after_a_loss(client, network, tmp_path, lost) == 1


@pytest.mark.parametrize(
    ("mutant", "lost"),
    [(take_every_place, []), (note_every_ask, ["drop response"] * 2), (note_every_ask, ["drop request"] * 2)],
)
def test_another_rule_that_draws_again_is_found(client, network, tmp_path, monkeypatch, mutant, lost) -> None:
    mutant(monkeypatch)
    assert after_a_loss(client, network, tmp_path, lost) > 1


def test_the_person_has_the_same_arm_and_no_ticket(client, network, tmp_path, caplog) -> None:
    given = client(channel=CHANNEL).assign("ann")
    elsewhere = client(channel=CHANNEL, folder=tmp_path / "another").assign("ann")
    assert (elsewhere.arm, elsewhere.payload, elsewhere.source) == (given.arm, given.payload, "service")
    assert (elsewhere.ticket, elsewhere.offer, elsewhere.why) == (None, None, "given_elsewhere")
    assert "places were given elsewhere" in caplog.text
    assert given.ticket not in caplog.text


@pytest.mark.parametrize("part", [".outbox", ".known"])
def test_a_folder_of_which_a_part_was_lost_draws_nothing_again(client, network, tmp_path, part) -> None:
    ticket = visit(client)
    (file,) = tmp_path.glob(f"*{part}")
    file.unlink()
    visit(client)
    one = client(channel=CHANNEL)
    with suppress(AlreadySpent, PersonalValue):
        one.report(ticket, 0)
    assert one.flush()
    assert len(network.service.reports) == 1
    sent = {body for path, body in network.sent if path.endswith("/report/batch")}
    assert len(sent) == 1


# --- the folder that has the place


def test_who_comes_twice_before_the_outcome_is_reported_once(client, network, service) -> None:
    first = client(channel=CHANNEL)
    ticket = first.assign("ann").ticket
    first.close()
    assert visit(client) == visit(client) == ticket
    assert len(service.reports) == 1


@pytest.mark.parametrize("fault", ["drop response", "hang", b"garbage"])
def test_a_first_answer_that_was_lost_costs_the_report(client, network, service, fault) -> None:
    """It cannot be told from an answer that says that the place is not new, and privacy goes first."""
    faults = iter([fault] * 2)

    def first(path: str) -> str | bytes | None:
        return next(faults, None) if path.endswith("assign") else None

    if fault != "drop response":  # the request arrives, and its answer does not
        service.assign(STUDY, "ann")
    network.fault = first
    assert visit(client, deadline=0.05 if fault == "hang" else 30) is None
    network.fault = lambda path: None
    assert visit(client) is None
    assert reports(network) == 0


def test_a_request_that_never_arrived_costs_nothing(client, network, service) -> None:
    faults = iter(["drop request"] * 2)
    network.fault = lambda path: next(faults, None)
    assert visit(client) is None
    assert visit(client) == "ticket0"
    assert len(service.reports) == 1


# --- a service that lies


def drawn_for_each_ticket(client: Made, network: Network, service: FakeService, again: bool) -> int:
    """How many draws of one outcome a service gets that gives the person one ticket after the other."""
    for i in range(3):
        visit(client)
        if again:
            (place,) = service.places.values()
            place["ticket"] = f"ticket0{i}"
        else:
            service.places[STUDY, f"somebody {i}"] = service.places.pop((STUDY, "ann"))
    return reports(network)


@pytest.mark.parametrize("again", [True, False])
def test_a_service_that_gives_many_tickets_gets_one_draw(client, network, service, again) -> None:
    assert drawn_for_each_ticket(client, network, service, again) == 1


def test_a_draw_for_each_ticket_is_found(client, network, service, monkeypatch) -> None:
    real, take = Outbox.put_device_report, Outbox.take_place

    def draws(self: Outbox, study: str, person: str, ticket: str, metric: str, draw: Draw) -> None:
        real(self, study, ticket, ticket, metric, draw)

    def takes(self: Outbox, study: str, person: str, ticket: str, again: bool) -> bool:
        return take(self, study, ticket, ticket, again)

    monkeypatch.setattr(Outbox, "put_device_report", draws)
    monkeypatch.setattr(Outbox, "take_place", takes)
    assert drawn_for_each_ticket(client, network, service, again=False) == 3


def drawn_with_tickets_of_others(client: Made, network: Network, service: FakeService) -> int:
    """How many draws of one outcome a service gets that says that it is another person's."""
    for unit in sorted(("ann", "bob", "cyd"), key=hash_unit, reverse=True):  # whoever came last is found first
        service.places.clear()
        visit(client, unit)
    return reports(network)


def test_a_ticket_is_of_one_person(client, network, service) -> None:
    assert drawn_with_tickets_of_others(client, network, service) == 1


def test_a_ticket_that_may_be_of_another_person_is_found(client, network, service, monkeypatch) -> None:
    def forgetting(self: Outbox, study: str, person: str, ticket: str, again: bool) -> bool:
        with self._file.transaction() as connection:
            connection.execute("DELETE FROM place")
        return real(self, study, person, ticket, again)

    real = Outbox.take_place
    monkeypatch.setattr(Outbox, "take_place", forgetting)
    assert drawn_with_tickets_of_others(client, network, service) == 3


# --- the book itself


def test_nothing_is_drawn_under_a_place_that_was_not_taken(tmp_path) -> None:
    outbox = Outbox(tmp_path / "small.outbox")
    assert not outbox.take_place("small", "ann", "abc", again=True)
    assert outbox.take_place("small", "ann", "abc", again=False)
    assert outbox.take_place("small", "ann", "abc", again=True)
    assert outbox.take_place("small", "ann", "abc", again=False)
    assert not outbox.take_place("small", "ann", "def", again=False)
    assert not outbox.take_place("small", "bob", "abc", again=False)
    assert outbox.take_place("other", "bob", "abc", again=False)
    for study, person, ticket in (("small", "ann", "def"), ("small", "bob", "abc"), ("other", "ann", "abc")):
        with pytest.raises(AlreadySpent, match="not the first to have this place"):
            outbox.put_device_report(study, person, ticket, "", lambda spent: pytest.fail("it is drawn"))
    assert outbox.studies() == []
    outbox.close()


def draws(tmp_path: Path) -> int:
    """How many different values are sent of an outcome that is reported again and again, also after a start."""
    values = set()
    for _ in range(2):
        outbox = Outbox(tmp_path / "small.outbox")
        assert outbox.take_place("small", "ann", "abc", again=False)
        for _ in range(2):
            outbox.put_device_report("small", "ann", "abc", "", lambda spent: add_report_noise(CHANNEL, OFFER, 1))
            (message,) = outbox.next("small", 10)
            values.add(message.value)
            outbox.settle([message])
        outbox.close()
    return len(values)


def test_an_outcome_is_drawn_once(tmp_path) -> None:
    assert draws(tmp_path) == 1


def test_a_book_that_never_refuses_is_found(tmp_path, monkeypatch) -> None:
    """The mutant has a book of its own at each call, in which nothing stands."""
    real = Outbox.put_device_report

    def mutant(self: Outbox, study: str, person: str, ticket: str, metric: str, draw: Draw) -> None:
        with self._file.transaction() as connection:
            connection.execute("DELETE FROM device_report")
        real(self, study, person, ticket, metric, draw)

    monkeypatch.setattr(Outbox, "put_device_report", mutant)
    assert draws(tmp_path) > 1


def test_a_place_that_could_not_be_written_down_is_not_given(client, monkeypatch) -> None:
    def failing(self: Outbox, *given: Any) -> bool:
        raise StorageFailed("the disk is full")

    monkeypatch.setattr(Outbox, "take_place", failing)
    given = client(channel=CHANNEL).assign("ann")
    assert (given.arm, given.ticket, given.source) == ("plain", None, "fallback")


def test_openfeature_draws_nothing_again_either(network, service, tmp_path) -> None:
    for folder in ("old", "new", "new"):
        options = {"folder": tmp_path / folder, "transport": lambda: network, "deadline": 30.0}
        provider = MaskedBanditProvider(URL, KEY, channels={STUDY: CHANNEL}, **options)
        api.set_provider_and_wait(provider)
        try:
            app, ann = api.get_client(), EvaluationContext("ann")
            found = app.get_object_details(STUDY, {}, ann)
            assert found.variant == "plain"
            assert ("ticket" in found.flag_metadata) == (folder == "old")
            app.track("opened", ann)
            assert provider.flush()
        finally:
            api.shutdown()
            api.clear_providers()
    assert reports(network) == 1
