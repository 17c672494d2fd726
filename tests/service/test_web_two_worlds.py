"""Devices in Chromium whose worlds differ in one outcome look alike to whoever sees the network, the service included.

What Python's devices are compared by is compared here: times, order, number, paths, headers, sizes, all plain fields,
and which message repeats which.
"""

import pytest
from playwright.sync_api import Browser

from tests.device.fake_leader import (
    DELTA,
    EXPOSED,
    HOUR,
    PINNED,
    WINDOW,
    Leader,
    Message,
    listening,
    make_local_place,
    make_mixed_place,
    make_place,
)
from tests.service.web_pages import Site, open_page, somebody

pytestmark = pytest.mark.slow
WORLDS: dict[str, list[tuple[int, float]]] = {
    "nothing": [],
    "a bit": [(HOUR, 1)],
    "a fraction": [(HOUR, 0.371)],
    "late": [(5 * HOUR, 1)],
    "often": [(hour * HOUR, hour % 2) for hour in range(6)],
    "after the window": [(WINDOW + 1, 1)],
}
CONTACTS = (3 * HOUR, WINDOW, WINDOW, WINDOW + 1, WINDOW + HOUR)
FAULTS: dict[int, str | int] = {0: 503, 2: "unanswered", 3: 503, 5: 429}
MAKE = """([url, pinned, delta, reports, place]) => {
  globalThis.now = place.exposed;
  globalThis.device = new Device("me", url, new Agreed(1, { operators: pinned, delta }),
    { key: "mb_device_1_2", reports, clock: () => now });
  globalThis.happened = 0;
  globalThis.record = (value) => { happened += value; return device.record(place.study, value); };
  globalThis.contact = () => device.contact();
  return device.consent(true).then(() => device.join(place));
}"""
TWINS = {
    "sends when it happens": """() => {
      const usual = record;
      record = async (value) => { await usual(value); await device.contact(); };
    }""",
    "sends only if something was recorded": "() => { contact = async () => happened && device.contact(); }",
    "has a size of what it says": """() => {
      const usual = fetch;
      fetch = (url, how) => usual(url, { ...how, body: how.body + " ".repeat(happened) });
    }""",
    "draws twice if something happened": """() => {
      const forget = () => new Promise((kept) => {
        const opened = indexedDB.open("me");
        opened.onsuccess = () => {
          const cleared = opened.result.transaction("reports", "readwrite");
          cleared.objectStore("reports").clear();
          cleared.oncomplete = () => { opened.result.close(); kept(); };
        };
      });
      contact = async () => { if (happened) await forget(); await device.contact(); };
    }""",
}


WAYS = {
    "standing": (make_place, "standing"),
    "deadline": (make_place, "deadline"),
    "local": (make_local_place, "deadline"),
    "shuffled": (make_mixed_place, "standing"),
}


def watch(browser: Browser, site: Site, way: str, world: str, twin: str = "") -> list[Message]:
    """All that is seen of a device in a world."""
    make, reports = WAYS[way]
    leader, place = Leader(), make()
    leader.faults = dict(FAULTS)
    with listening(leader, site.url) as url, somebody(browser) as context:
        if way == "shuffled":
            place["operators"][1]["address"] = url  # as everything that is sent is seen by one observer
        page = open_page(context, f"{site.url}/")
        page.evaluate(MAKE, [url, list(PINNED), DELTA, reports, place])
        if twin:
            page.evaluate(TWINS[twin])
        events: list[tuple[int, float | None]] = [(time, None) for time in CONTACTS] + list(WORLDS[world])
        for time, value in sorted(events, key=lambda event: (event[0], event[1] is not None)):
            leader.time = EXPOSED + time
            page.evaluate("time => { now = time }", leader.time)
            if value is None:
                page.evaluate("contact()")
            else:
                page.evaluate("value => record(value)", value)
    return [message._replace(head=hide_port(message.head)) for message in leader.seen]


def hide_port(head: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """The headers without the address of the service of this world."""
    return tuple((name, value) for name, value in head if name.lower() != "host")


def find_telling(browser: Browser, site: Site, way: str, twin: str = "", worlds: tuple[str, ...] = ()) -> list[str]:
    """Worlds that look otherwise than the one in which nothing happens."""
    nothing = watch(browser, site, way, "nothing", twin)
    assert len(nothing) >= (1 if twin else 2), "hardly anything is seen"
    return [name for name in worlds or tuple(WORLDS) if watch(browser, site, way, name, twin) != nothing]


@pytest.mark.parametrize("way", WAYS)
def test_worlds_look_alike(browser: Browser, site: Site, way: str) -> None:
    assert find_telling(browser, site, way) == []


DRAWS_TWICE = "draws twice if something happened"
TELLING = [
    *(("standing", twin) for twin in TWINS if twin != DRAWS_TWICE),
    ("local", DRAWS_TWICE),
    *(("shuffled", twin) for twin in TWINS),
]


@pytest.mark.parametrize(("way", "twin"), TELLING)
def test_a_device_that_tells_is_found(browser: Browser, site: Site, way: str, twin: str) -> None:
    assert find_telling(browser, site, way, twin, ("a bit",)) == ["a bit"]


def test_something_is_seen(browser: Browser, site: Site) -> None:
    """Reports are repeated, replaced and come after the window, with nothing of the page but its origin."""
    seen = watch(browser, site, "standing", "a bit")
    assert [dict(message.body)["turn"] for message in seen] == [0, 1, 2, 2, 2]
    names = {name.lower() for message in seen for name, _ in message.head}
    assert names.isdisjoint({"cookie", "referer", "if-none-match", "if-modified-since"})
    assert dict(seen[0].head)["Origin"] == site.url
    assert len(watch(browser, site, "local", "a bit")) == 2
    seen = watch(browser, site, "shuffled", "a bit")
    asked = [(message.time >= EXPOSED + WINDOW, dict(message.head)[""].rpartition("/")[2]) for message in seen]
    assert asked == [(False, "pass")] * 2 + [(True, "bundle")] * 3
    assert ["Authorization" in dict(message.head) for message in seen] == [True, True, False, False, False]
