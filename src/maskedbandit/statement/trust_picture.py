"""The trust model as a picture: through whose hands an outcome goes, and where the noise is added to it."""

from textwrap import wrap
from typing import NamedTuple

from markupsafe import Markup

from maskedbandit.drawing import Drawing, draw_picture


class Station(NamedTuple):
    """Somebody on the way of an outcome."""

    name: str
    does: str
    sends: str  # to the next one
    trusted: bool  # sees outcomes


EVERYBODY = Station("Everybody", "sees what is released", "", False)
STATIONS: dict[str, tuple[Station, ...]] = {
    "central": (
        Station("Each person", "has an outcome", "outcome", True),
        Station("Server", "keeps outcomes, adds noise", "noisy sums", True),
        EVERYBODY,
    ),
    "local": (
        Station("Each device", "adds noise to its outcome", "noisy reports", True),
        Station("Server", "adds reports up", "noisy sums", False),
        EVERYBODY,
    ),
    "distributed": (
        Station("Each device", "adds a share of the noise", "hidden values", True),
        Station("Secure sum", "shows the total alone", "noisy sums", False),
        Station("Server", "releases it", "noisy sums", False),
        EVERYBODY,
    ),
    "two servers": (
        Station("Each device", "seals its outcome for both", "two shares", True),
        Station("Two servers", "add noise, each its own", "noisy shares", False),
        Station("Leader", "adds both up", "noisy sums", False),
        EVERYBODY,
    ),
    "sites": (
        Station("Each site", "adds up its people, with noise", "masked sums", True),
        Station("Secure sum", "shows the total alone", "noisy sums", False),
        Station("Coordinator", "releases it", "noisy sums", False),
        EVERYBODY,
    ),
    "shuffled": (
        Station("Each device", "adds a part of the noise", "messages", True),
        Station("Shuffler", "forgets who sent what", "mixed messages", False),
        Station("Server", "adds messages up", "noisy sums", False),
        EVERYBODY,
    ),
    "none": (
        Station("Each person", "has an outcome", "outcome", True),
        Station("Server", "adds outcomes up, no noise", "exact sums", True),
        Station("Everybody", "may see exact sums", "", True),
    ),
}


def describe_picture(trust: str) -> str:
    """The picture in words."""
    stations = STATIONS[trust]
    way = "; ".join(f"{each.name.lower()} {each.does}" for each in stations)
    last = [each.name.lower() for each in stations if each.trusted][-1]
    border = "There is no noise" if trust == "none" else f"Noise is in whatever leaves: {last}"
    return f"The way of an outcome, from left to right: {way}. {border}."


def trust_picture(trust: str) -> Markup:
    """Both drawings, with a name that is the trust model's."""

    def draw(on: Drawing) -> None:
        stations = STATIONS[trust]
        gap, high = (34, 46) if on.narrow else (104, 66)
        wide = on.width - 20 if on.narrow else (on.width - 8 - gap * (len(stations) - 1)) / len(stations)
        y = 22.0
        for i, each in enumerate(stations):
            x, top = (10.0, y + i * (high + gap)) if on.narrow else (4 + i * (wide + gap), y)
            on.rect("open" if each.trusted else "closed", x, top, wide, high)
            on.text("who", x + 8, top + 20, each.name)
            for row, text in enumerate([each.does] if on.narrow else wrap(each.does, round((wide - 16) / 6.4))):
                on.text("does", x + 8, top + 38 + 16 * row, text)
            if i + 1 < len(stations):
                sends(on, each, stations[i + 1], x, top, wide, high, gap)
        on.height = y + (len(stations) * (high + gap) - gap if on.narrow else high) + 10

    return draw_picture(f"trust-{trust.replace(' ', '-')}", f"Trust model: {trust}", describe_picture(trust), draw)


def sends(
    on: Drawing, each: Station, other: Station, x: float, top: float, wide: float, high: float, gap: float
) -> None:
    """The way from one to the next, and the border where outcomes end."""
    border = each.trusted and not other.trusted
    if on.narrow:
        middle, end = x + 24, top + high + gap
        if border:
            on.line("border", x - 6, top + high + 8, x + wide + 6, top + high + 8)
        on.line("way", middle, top + high, middle, end - 5)
        on.arrow("head", middle, end - 1)
        on.text("sent", middle + 12, top + high + 23, each.sends)
        return
    y, start, end = top + high / 2, x + wide, x + wide + gap
    if border:
        on.line("border", start + 12, top - 12, start + 12, top + high + 8)
        on.text("sent", start + 18, top - 6, "noise from here on")
    on.line("way", start, y, end - 6, y)
    on.arrow_right("head", end - 1, y)
    on.text("sent middle", (start + end) / 2 + (6 if border else 0), y - 7, each.sends)
