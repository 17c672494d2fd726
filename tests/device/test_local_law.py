"""What a device sends under local trust has the law that its offer states, drawn once for each person and outcome.

Each comparison raises a false alarm with probability 1e-9 at most.
"""

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from maskedbandit.channels.local import Local
from maskedbandit.channels.response import Response
from maskedbandit.device import Device, local_reports
from maskedbandit.device.local_reports import draw_local_value
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from tests.device.fake_leader import EXPOSED, HOUR, KEY, STUDY, WINDOW, Leader, make_device, make_local_place
from tests.statistics import same_distribution, seeded


def slow(value):
    """A case of `make slow`."""
    return pytest.param(value, marks=pytest.mark.slow)


PEOPLE = 10_000
OUTCOMES = (Fraction(0), Fraction(1), Fraction(3, 10))
CHANNELS = {
    "response": Response(1),
    "laplace": Local(1),
    "laplace in steps": Local(2, grid=3),
    "gaussian": Local("1/2", DiscreteGaussian(), 4),
}


def state_law(channel, scaled):
    """The probabilities of what is sent: the outcome is rounded so that its mean is kept, and hidden."""
    steps = channel.offer(1).steps
    whole, part = divmod(scaled * steps, 1)

    def pmf(z):
        if isinstance(channel, Response):
            flip = 1 / (1 + np.exp(float(channel.epsilon)))
            one = float(scaled) * (1 - flip) + (1 - float(scaled)) * flip
            return np.where(z == 1, one, np.where(z == 0, 1 - one, 0.0))
        noise = channel.release_noise(1)
        return float(1 - part) * noise.pmf(z - int(whole)) + float(part) * noise.pmf(z - int(whole) - 1)

    return pmf


def check_law(name, draw=draw_local_value):
    """Raise unless the law is right for every outcome."""
    channel, bits = CHANNELS[name], seeded(7)
    for scaled in OUTCOMES:
        offer = channel.offer(100).at(7)
        same_distribution([draw(offer, scaled, bits) for _ in range(PEOPLE)], state_law(channel, scaled))


@pytest.mark.sparing(1)
@pytest.mark.parametrize("name", [slow(name) if name.startswith("g") else name for name in CHANNELS])
def test_what_is_sent_has_the_law_of_the_offer(name) -> None:
    check_law(name)


def draw_rounded(offer, scaled, bits):
    """Noise that is drawn on the line, and rounded with the outcome."""
    random = Random(bits.below(2**64))
    noise = random.expovariate(1.0) - random.expovariate(1.0)
    return round(float(scaled) * offer.steps + noise * float(offer.noise.scale))


def draw_without_coin(offer, scaled, bits):
    """An outcome that is rounded to the nearest step."""
    return round(scaled * offer.steps) + draw_local_value(offer, Fraction(0), bits)


def draw_folded(offer, scaled, bits):
    """A number that is kept between the outcomes."""
    return min(max(draw_local_value(offer, scaled, bits), 0), offer.steps)


def draw_of_others(offer, scaled, bits):
    """Noise for the smallest epsilon that the study allows, and not for that of the offer."""
    return draw_local_value(CHANNELS["laplace in steps"].offer(100).at(7), scaled, bits)


@pytest.mark.sparing(1)
@pytest.mark.parametrize("twin", [draw_rounded, draw_folded, slow(draw_without_coin), slow(draw_of_others)])
def test_a_sampler_that_is_wrong_is_found(twin) -> None:
    with pytest.raises(AssertionError):
        check_law("laplace", twin)


def send_all(folder, people, kind=Device, faults=(), place=None):
    """What people send whose outcome is 1; of each all numbers that the service ever sees."""
    found = []
    for number in range(people):
        leader = Leader()
        leader.faults = dict.fromkeys(faults, "unanswered")
        device = make_device(folder / str(number), leader, kind, key=KEY)
        device.join(place or make_local_place(offer=Local(1).offer(100).at(7).to_text()))
        device.record(STUDY, 1)
        for hour in range(4):
            leader.time = EXPOSED + WINDOW + hour * HOUR
            device.contact()
        device.close()
        found.append([body for body in leader.bodies if b'"value"' in body])
    return found


def read_values(bodies):
    """The numbers in bodies."""
    return [int(body.partition(b'"value":')[2].partition(b",")[0]) for body in bodies]


def check_draws(folder, kind=Device):
    """Raise unless every person draws once, whatever the network does, and by the law."""
    sent = send_all(folder, 150, kind, faults=(0, 1))
    assert all(len(bodies) == 3 for bodies in sent)
    assert all(len(set(bodies)) == 1 for bodies in sent)
    same_distribution([read_values(bodies)[0] for bodies in sent], state_law(Local(1), Fraction(1)))


@pytest.mark.slow
def test_every_person_draws_once(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("maskedbandit.device.device.Bits", lambda: seeded(next(numbers)))
    numbers = iter(range(10**6))
    check_draws(tmp_path)


class Redrawing(Device):
    """It draws anew for every attempt."""

    def contact(self):
        with self._book._file.transaction() as connection:
            connection.execute("DELETE FROM kept_report WHERE answer = ''")
        super().contact()


class Generous(Device):
    """It draws three times, and sends the number that is nearest to the outcome."""

    def _make_report(self, *given):
        made = [super(Generous, self)._make_report(*given) for _ in range(3)]
        return min(made, key=lambda each: abs(each.says - 1))


@pytest.mark.slow
@pytest.mark.parametrize("twin", [Redrawing, Generous], ids=lambda twin: twin.__name__)
def test_a_device_that_draws_twice_is_found(twin, tmp_path) -> None:
    with pytest.raises(AssertionError):
        check_draws(tmp_path, twin)


def test_the_laws_are_those_of_the_noises() -> None:
    """Else a mistake of the channel would be one of the test, too."""
    z = np.arange(-3, 4)
    assert Local(1).release_noise(1).pmf(z) == pytest.approx(DiscreteLaplace().pmf(z))
    assert local_reports.DEVICE_NOISES.keys() == {"DiscreteLaplace", "DiscreteGaussian", "Skellam"}
