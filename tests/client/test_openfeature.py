"""An application that knows OpenFeature alone: flags are studies, and what is tracked counts."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from openfeature import api
from openfeature.client import OpenFeatureClient
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.flag_evaluation import Reason
from openfeature.track import TrackingEventDetails

from maskedbandit.channels.local import Local
from maskedbandit.client.openfeature import MaskedBanditProvider
from tests.client.conftest import only
from tests.client.fake_service import KEY, STUDY, URL, FakeService, Network

ANN = EvaluationContext("ann")
PAYLOADS = {
    "boolean": (True, False, False),
    "integer": (7, 0, 1.5),
    "float": (1.5, 0.0, "1"),
    "string": ("HELLO", "", 3),
    "object": ({"size": 3}, {}, "text"),
}
Made = Callable[..., OpenFeatureClient]


@pytest.fixture
def application(network: Network, tmp_path: Path) -> Iterator[Made]:
    """Makes the client of an application, as if the application had been started."""

    def start(**options: Any) -> OpenFeatureClient:
        usual = {"folder": tmp_path, "transport": lambda: network, "deadline": 30.0}
        api.set_provider_and_wait(MaskedBanditProvider(URL, KEY, **(usual | options)))
        return api.get_client()

    yield start
    api.shutdown()
    api.clear_providers()


def provider(application: OpenFeatureClient) -> MaskedBanditProvider:
    found = application.provider
    assert isinstance(found, MaskedBanditProvider)
    return found


def test_a_flag_is_a_study_and_its_variant_the_arm(application, service) -> None:
    app = application()
    found = app.get_object_details(STUDY, {}, ANN)
    assert (found.value, found.variant, found.reason) == ({"subject": "Hello"}, "plain", Reason.SPLIT)
    assert found.flag_metadata == {"ticket": "ticket0", "propensity": "1/2", "again": False, "source": "service"}
    again = asyncio.run(app.get_object_details_async(STUDY, {}, ANN))
    assert (again.value, again.flag_metadata["again"]) == (found.value, True)


@pytest.mark.parametrize("kind", PAYLOADS)
@pytest.mark.parametrize("soon", [False, True])
def test_the_value_is_the_payload_if_it_has_the_type(application, service, kind, soon) -> None:
    right, default, wrong = PAYLOADS[kind]
    service.arms = [("a", right), ("b", default if kind == "boolean" else wrong), ("c", None)]
    app = application()

    def get(unit: str) -> Any:
        if soon:
            return asyncio.run(getattr(app, f"get_{kind}_details_async")(STUDY, default, EvaluationContext(unit)))
        return getattr(app, f"get_{kind}_details")(STUDY, default, EvaluationContext(unit))

    assert (get("ann").value, get("ann").variant) == (right, "a")
    bob, eve = get("bob"), get("eve")
    if kind == "boolean":
        assert (bob.value, bob.variant, bob.error_code) == (False, "b", None)  # False is a value
    else:
        assert (bob.value, bob.error_code) == (default, ErrorCode.TYPE_MISMATCH)
    expected = ("c", None) if kind == "string" else (default, ErrorCode.TYPE_MISMATCH)
    assert (eve.value, eve.error_code) == expected
    assert provider(app).flush()
    seen = {"ticket0", "ticket1"} if kind == "boolean" else {"ticket0", "ticket2"} if kind == "string" else {"ticket0"}
    assert service.exposed == seen  # whoever got the default saw no arm


def test_whole_numbers_are_floats_too_and_booleans_are_no_numbers(application, service) -> None:
    service.arms = [("one", 1), ("on", True)]
    app = application()
    assert app.get_float_value(STUDY, 0.5, ANN) == 1.0
    for get in (app.get_integer_details, app.get_float_details):
        assert get(STUDY, 5, EvaluationContext("bob")).error_code == ErrorCode.TYPE_MISMATCH


def test_errors_are_those_of_openfeature(application, service, network) -> None:
    app = application()

    def code(flag: str = STUDY, context: EvaluationContext | None = ANN) -> object:
        found = app.get_string_details(flag, "default", context)
        assert found.value == "default"
        assert found.reason == Reason.ERROR
        assert KEY not in str(found)
        return found.error_code

    assert code(context=None) == code(context=EvaluationContext("")) == ErrorCode.TARGETING_KEY_MISSING
    assert code("unknown-study") == code("no flag/../here") == ErrorCode.FLAG_NOT_FOUND
    assert code(context=EvaluationContext("a" * 300)) == ErrorCode.INVALID_CONTEXT
    network.fault = only("unavailable")
    assert code() == ErrorCode.PROVIDER_NOT_READY
    network.fault = only(None)
    service.state["/assign"] = 401
    assert code() == ErrorCode.GENERAL
    service.state["/assign"] = 403
    assert code() == ErrorCode.FLAG_NOT_FOUND
    service.state["/assign"] = 409
    assert code() == ErrorCode.PROVIDER_NOT_READY
    assert app.get_string_details(STUDY, "default", ANN).error_message.startswith(
        "the service gives no arm (not_running"
    )


def test_while_the_service_is_away_the_person_keeps_the_arm(application, network, service) -> None:
    application().get_object_value(STUDY, {}, ANN)
    network.fault = only("drop request")
    found = application().get_object_details(STUDY, {}, ANN)  # started again
    assert (found.value, found.variant, found.reason) == ({"subject": "Hello"}, "plain", Reason.STALE)
    assert found.flag_metadata == {"again": False, "source": "fallback", "why": "unreachable"}
    network.fault = only(None)


def test_what_is_tracked_is_reported_in_all_studies_of_the_person(application, service) -> None:
    app = application()
    for study in (STUDY, "banner"):
        app.get_object_value(study, {}, ANN)
    app.get_object_value(STUDY, {}, EvaluationContext("bob"))
    app.track("opened", ANN, TrackingEventDetails(0.5))
    app.track("opened", EvaluationContext("nobody"), TrackingEventDetails(0.5))
    app.track("opened", details) if (details := None) else app.track("opened")  # no person
    assert provider(app).flush()
    assert sorted((ticket, value) for (ticket, _), value in service.reports.items()) == [
        ("ticket0", 0.5),
        ("ticket1", 0.5),
    ]


def counted(app: OpenFeatureClient, service: FakeService, network: Network) -> int:
    """How many events count of three that happened, on a network that loses answers."""
    app.get_object_value(STUDY, {}, ANN)
    faults = iter(["drop response", "duplicate", "drop response", "reorder", "drop response"])
    network.fault = lambda path: next(faults, None)
    for _ in range(3):
        app.track("bought", ANN, TrackingEventDetails(1))
        assert provider(app).flush()
    return len(service.reports)


def test_a_retry_counts_once_and_a_second_event_twice(application, service, network) -> None:
    assert counted(application(), service, network) == 3


def test_one_name_for_all_events_is_found(application, service, network, monkeypatch) -> None:
    """The mutant: with rule "sum" two of the three purchases would be missing."""
    monkeypatch.setattr("maskedbandit.client.openfeature._event", lambda name, id: name)
    assert counted(application(), service, network) == 1


def test_an_application_may_name_its_events(application, service) -> None:
    app = application()
    app.get_object_value(STUDY, {}, ANN)
    for order in ("order 1", "order 2", "order 1"):
        app.track("bought", ANN, TrackingEventDetails(1, {"event_id": order}))
    app.track("a very long name" * 20, ANN, TrackingEventDetails(1, {"event_id": 3}))
    assert provider(app).flush()
    events = [event for _, event in service.reports]
    assert events[:2] == ["bought:order 1", "bought:order 2"]
    assert len(events) == 3
    assert len(events[2]) == 64


def test_an_event_without_a_value_is_one_and_a_wrong_one_is_dropped(application, service, caplog) -> None:
    app = application()
    app.get_object_value(STUDY, {}, ANN)
    app.track("opened", ANN)
    app.track("opened", ANN, TrackingEventDetails(float("nan")))
    app.track("opened", ANN, TrackingEventDetails("0.123456"))
    assert provider(app).flush()
    assert list(service.reports.values()) == [1.0]
    assert "an event is dropped" in caplog.text
    assert "0.123456" not in caplog.text


def test_what_one_study_does_not_take_is_reported_in_the_others(application, service, caplog) -> None:
    app = application(channels={"banner": Local(epsilon=1)})  # the service offers no noise there
    for study in ("banner", STUDY):
        app.get_object_value(study, {}, ANN)
    app.track("opened", ANN)
    assert provider(app).flush()
    assert {ticket for ticket, _ in service.reports} == {"ticket1"}
    assert "an event is dropped" in caplog.text


def test_a_study_may_name_the_event_that_is_its_outcome(application, service) -> None:
    app = application(outcomes={STUDY: "opened"})
    for study in (STUDY, "banner"):
        app.get_object_value(study, {}, ANN)
    app.track("clicked", ANN)
    assert provider(app).flush()
    assert {ticket for ticket, _ in service.reports} == {"ticket1"}
    app.track("opened", ANN)
    assert provider(app).flush()
    assert {ticket for ticket, _ in service.reports} == {"ticket0", "ticket1"}


def test_the_event_of_a_guardrail_is_its_outcome_and_not_the_reward(application, service) -> None:
    app = application(metrics={STUDY: ["unsubscribed", "spent"]})
    app.get_object_value(STUDY, {}, ANN)
    for event in ("unsubscribed", "opened"):
        app.track(event, ANN, TrackingEventDetails(1, {"event_id": "mail 1"}))
    assert provider(app).flush()
    metrics = sorted(event.partition(" ")[0] for _, event in service.reports)
    assert len(metrics) == 2
    assert metrics[1] == "unsubscribed"


def test_an_application_may_say_itself_that_the_arm_was_seen(application, service) -> None:
    app = application(expose_on_evaluation=False)
    app.get_object_value(STUDY, {}, ANN)
    assert provider(app).flush()
    assert service.exposed == set()
    app.track("exposed", ANN)
    assert provider(app).flush()
    assert (service.exposed, service.reports) == ({"ticket0"}, {})


def test_an_outcome_finds_its_person_after_the_application_was_started_again(application, service) -> None:
    first = application()
    first.get_object_value(STUDY, {}, ANN)
    provider(first).shutdown()
    second = application()
    second.track("opened", ANN)  # without an evaluation
    assert provider(second).flush()
    assert list(service.reports.values()) == [1.0]


def test_the_context_says_what_rules_are_about(application, service, network) -> None:
    app = application()
    service.turned_away.add("ann")
    said = {"age": 18, "country": "AT", "beta": True, "token": "signed", "tags": ["a"], "long": "x" * 257, "a name": 1}
    found = app.get_object_details(STUDY, {}, EvaluationContext("ann", said))
    assert json.loads(network.sent[-1][1]) == {
        "unit": "ann",
        "token": "signed",
        "attributes": {"age": 18.0, "country": "AT", "beta": True},
    }
    assert (found.variant, found.reason, found.flag_metadata["why"]) == ("bold", Reason.STATIC, "not_eligible")
    service.turned_away.clear()
    assert app.get_object_details(STUDY, {}, EvaluationContext("ann", said)).reason == Reason.SPLIT
    many = EvaluationContext("ann", {f"field{i}": i for i in range(33)})
    assert app.get_object_details(STUDY, {}, many).error_code == ErrorCode.INVALID_CONTEXT
