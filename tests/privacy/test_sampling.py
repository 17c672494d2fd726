"""The exact samplers have exactly their distributions, use no float, and never use a random word twice.

Two kinds of evidence for each distribution. `explored` follows the paths of coins of a sampler and adds up their
probabilities: no randomness, no false alarms. The samples have fixed seeds; under a new seed each random
assertion rejects a correct sampler with probability ALPHA = 1e-9.
"""

import copy
import inspect
import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from heapq import heappop, heappush
from itertools import product
from random import Random
from threading import Event, Thread, current_thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import ive

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy import process, sampling
from maskedbandit.privacy.sampling import (
    RANDOM_WORDS,
    SPAN,
    Bits,
    bernoulli,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
    draw_laplace_shares,
    draw_polyas,
    exact_poisson,
    geometric,
    polya,
    skellam,
)
from tests.floatfree import offences
from tests.for_each import for_each
from tests.statistics import at_most, mean_is, same_distribution, same_distribution_of_two, seeded
from tests.store.racers import LATE

N = 20_000
THIRD, HALF = Fraction(1, 3), Fraction(1, 2)


@pytest.fixture(autouse=True)
def same_bits() -> None:
    """Here they are the system's."""


def pmf_of_geometric(rate):
    return lambda x: stats.nbinom.pmf(x, 1, -np.expm1(-float(rate)))


def pmf_of_laplace(scale):
    return stats.dlaplace(1 / float(scale)).pmf


def pmf_of_gaussian(variance):
    far = np.arange(-100 - 20 * int(variance), 101 + 20 * int(variance))
    total = np.exp(-(far**2) / (2 * float(variance))).sum()
    return lambda z: np.exp(-(z.astype(float) ** 2) / (2 * float(variance))) / total


def pmf_of_polya(shape, rate):
    """SciPy's `nbinom` takes the probability of a success, which is 1 - β here."""
    return stats.nbinom(float(shape), -np.expm1(-float(rate))).pmf


def pmf_of_poisson(mean):
    return stats.poisson(float(mean)).pmf


def pmf_of_skellam(variance):
    return lambda z: ive(np.abs(z), float(variance))


CASES = [  # sampler, parameters, pmf
    *[(geometric, [r], pmf_of_geometric(r)) for r in (1, THIRD, Fraction(22, 7), Fraction(1, 100))],
    *[(discrete_laplace, [s], pmf_of_laplace(s)) for s in (10, THIRD, Fraction(5, 2), 100)],
    *[(discrete_gaussian, [v], pmf_of_gaussian(v)) for v in (1, THIRD, Fraction(355, 113), 100)],
    *[
        (polya, [r, g], pmf_of_polya(r, g))
        for r, g in [
            (1, Fraction(1, 10)),
            (Fraction(1, 4), Fraction(1, 10)),
            (Fraction(2, 7), 1),
            (Fraction(3, 4), Fraction(7, 3)),
            (Fraction(1, 50), Fraction(1, 32)),
            (Fraction(1, 1000), Fraction(1, 32)),
            (Fraction(7, 2), THIRD),
        ]
    ],
    *[(exact_poisson, [m], pmf_of_poisson(m)) for m in (HALF, 1, Fraction(355, 113), Fraction(1, 20))],
    *[(skellam, [v], pmf_of_skellam(v)) for v in (1, Fraction(1, 5), 20)],
]


def sample(sampler, parameters, n=N, seed=20260808):
    bits = seeded(seed)
    return np.array([sampler(*parameters, bits) for _ in range(n)])


def name(case):
    sampler, parameters, _ = case
    return f"{sampler.__name__}-{'-'.join(map(str, parameters))}"


class TestBits:
    @for_each("n", [1, 2, 6, 1000])
    def test_below_is_uniform(self, n):
        draws = sample(lambda bits: bits.below(n), [])
        assert draws.min() >= 0
        assert draws.max() < n
        if n > 1:
            same_distribution(draws, lambda v: ((v >= 0) & (v < n)) / n)

    @pytest.mark.slow
    @for_each("n", [3 << 62, SPAN - 1, SPAN, SPAN + 1, 3 << 126, 1 << 128, 5 << 200])
    def test_below_is_uniform_on_wide_ranges(self, n):
        """The top of the range in eighths: a remainder without rejection would favour the low ones."""
        bits = seeded(1)
        draws = [bits.below(n) for _ in range(N)]
        assert 0 <= min(draws) <= max(draws) < n
        same_distribution(np.array([8 * draw // n for draw in draws]), lambda v: ((v >= 0) & (v < 8)) / 8)
        same_distribution(np.array([draw % 8 for draw in draws]), lambda v: ((v >= 0) & (v < 8)) / 8)

    def test_without_rejection_a_wide_range_is_rejected(self):
        bits, n = seeded(1), 3 << 62
        eighths = np.array([8 * (bits.below(SPAN) % n) // n for _ in range(N)])
        with pytest.raises(AssertionError, match="another distribution"):
            same_distribution(eighths, lambda v: ((v >= 0) & (v < 8)) / 8)

    @given(n=st.integers(1, SPAN), word=st.integers(0, SPAN - 1))
    def test_below_keeps_exactly_the_words_below_the_largest_multiple(self, n, word):
        page = RANDOM_WORDS.pack(*[0] * 510, 7 % n, word)  # words are taken from the end
        kept = word < SPAN - SPAN % n
        assert Bits(lambda size: page).below(n) == (word % n if kept else 7 % n)

    @for_each("n", [0, -1, 1.0, True, "6", None, np.int64(6)])
    def test_below_refuses(self, n):
        with pytest.raises(InvalidValue, match="n is"):
            Bits().below(n)

    def test_every_word_is_used_once(self):
        bits = seeded(1)
        words = [bits.below(SPAN) for _ in range(2000)]
        source = Random(1).randbytes
        expected = []
        while len(expected) < 2000:
            expected += RANDOM_WORDS.unpack(source(RANDOM_WORDS.size))[::-1]
        assert words == expected[:2000]

    def test_threads_that_noise_share_an_instance_never_noise_share_a_word(self):
        """40000 words of 64 bits, if independent, hold two equal ones with probability 4e-11."""
        bits, interval = Bits(), sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            with ThreadPoolExecutor(4) as pool:
                draws = pool.map(lambda _: [bits.below(SPAN) for _ in range(10_000)], range(4))
                words = [word for part in draws for word in part]
        finally:
            sys.setswitchinterval(interval)
        assert len(set(words)) == len(words) == 40_000

    def test_a_source_that_fails_or_falls_short_gives_no_draw(self):
        with pytest.raises(Exception, match="requires a buffer"):
            Bits(lambda size: b"\0").below(6)

    def test_default_source_is_the_system(self):
        assert Bits()._source is os.urandom
        assert [Bits().below(SPAN) for _ in range(4)] != [Bits().below(SPAN) for _ in range(4)]

    def test_repr_and_pickle_and_copies_carry_no_words(self):
        bits = Bits()
        bits.below(6)
        words = [str(word) for word in bits._words]
        assert len(words) == 511
        for text in (repr(bits), str(bits), pickle.dumps(bits, 0).decode("latin1")):
            assert not any(word in text for word in words)
        for copied in (pickle.loads(pickle.dumps(bits)), copy.copy(bits), copy.deepcopy(bits)):
            assert copied._words == []
            assert copied._source is os.urandom
        seed = Random(1)
        assert copy.copy(Bits(seed.randbytes))._source == seed.randbytes

    @pytest.mark.sparing(1)
    @pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork: no child begins with its parent's words")
    @pytest.mark.parametrize("page", ["", "process._known = None"], ids=["with a page", "without"])
    @pytest.mark.parametrize("fork", ["os.fork", "ctypes.PyDLL(None).fork"])
    def test_a_forked_child_and_its_parent_draw_differently(self, fork, page):
        """Also if the fork is made in C, where no hook of Python is called."""
        parent, child = self.draws_around_a_fork(fork, "", page)
        assert not set(parent) & set(child)
        # into a namespace where it has the number of its parent, as in a container: without a page C could do that
        parent, child = self.draws_around_a_fork(fork, "os.getpid = lambda: bits._process[0]", page)
        noticed = fork == "os.fork" or (not page and process._known is not None)
        assert set(parent).isdisjoint(child) == noticed
        parent, child = self.draws_around_a_fork(fork, "sampling.identify_process = lambda: bits._process", page)
        assert parent == child, "a child that does not forget is not noticed"

    def test_no_thread_of_a_child_keeps_a_word_of_its_parent(self, monkeypatch):
        """One of two threads looks whether the process is another one; the other looks, and draws, meanwhile."""
        bits, started, drawn = Bits(), Event(), Event()
        bits.below(6)
        inherited = set(bits._words)

        def another_process():
            if current_thread().name == "slow":
                started.set()
                assert drawn.wait(60)
            return -1, 0

        monkeypatch.setattr(sampling, "identify_process", another_process)
        found = []
        slow = Thread(target=lambda: found.append(bits.below(SPAN)), name="slow")
        slow.start()
        assert started.wait(60)
        found.append(bits.below(SPAN))
        drawn.set()
        slow.join(LATE)
        assert len(found) == 2
        assert not inherited & set(found)

    def draws_around_a_fork(self, fork, sabotage, page):
        """In a process of its own, as a fork of one with threads is not safe."""
        script = f"""
import ctypes, os
from maskedbandit.privacy import process, sampling
{page}
bits = sampling.Bits()
bits.below(6)
{sabotage}
child = {fork}()
if child:
    os.waitpid(child, 0)
print([bits.below(sampling.SPAN) for _ in range(10)], flush=True)
"""
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, timeout=60)
        return [json.loads(line) for line in done.stdout.splitlines()]


class Coin:
    """A uniform integer below n, decided only as far as the sampler looks; see `explored`."""

    def __init__(self, n, choose):
        self.n, self.choose, self.value = n, choose, None

    def __lt__(self, other):
        other = int(other)
        if self.value is None and 0 < other < self.n:
            return self.choose([other / self.n, (self.n - other) / self.n]) == 0
        return other >= self.n if self.value is None else self.value < other

    def __int__(self):
        if self.value is None:
            self.value = self.choose([1 / self.n] * self.n)
        return self.value

    __index__ = __int__

    def __gt__(self, other):
        return int(self) > other

    def __add__(self, other):
        return int(self) + other

    __radd__ = __add__

    def __floordiv__(self, other):
        return int(self) // other


class Path:
    """Replays the choices of a path; at its end it is `open`, and holds the chances of what may come next."""

    class Open(Exception):
        pass

    def __init__(self, path):
        self.ahead = list(path)[::-1]

    def choose(self, chances):
        if self.ahead:
            return self.ahead.pop()
        self.chances = chances
        raise Path.Open

    def below(self, n):
        return Coin(n, self.choose)


def one_step_coin(a, b, below):
    """A coin of e^(-a/b) as one choice, instead of the many of `_coin`, whose distribution has its own test."""
    p = float(np.exp(-int(a) / b))
    return below.__self__.choose([p, 1 - p]) == 0


def polya_of_thinned_units(shape, rate, bits):
    """A broken twin of `polya`: each unit of the geometric is kept or dropped, and not each piece."""
    return sum(bits.below(shape.denominator) < shape.numerator for _ in range(geometric(rate, bits)))


def polyas_that_share(shape, rate, bits):
    """A broken twin of two `draw_polyas`: both are given every piece that is kept."""
    return draw_polyas(1, shape, rate, bits) * 2


def pair(found):
    """Two numbers as one."""
    return found[0] + 1000 * found[1]


def pmf_of_pair(pmf):
    """Of two independent numbers, neither of which is anywhere near 1000."""
    return lambda z: np.where(z >= 0, pmf(z % 1000) * pmf(z // 1000), 0.0)


def explored(sampler, branches=15_000):
    """(mass, rest): the mass of each value over the likeliest paths of coins, and that of all other paths."""
    mass, open_mass, queue, ticket = {}, 1.0, [(-1.0, 0, ())], 1
    while queue and open_mass > 1e-10 and ticket < branches:
        minus_mass, _, choices = heappop(queue)
        path = Path(choices)
        try:
            value = int(sampler(path))
            mass[value] = mass.get(value, 0.0) - minus_mass
            open_mass += minus_mass
        except Path.Open:
            for choice, chance in enumerate(path.chances):
                heappush(queue, (minus_mass * chance, ticket, (*choices, choice)))
                ticket += 1
    return mass, open_mass


EXPLORED = [
    (geometric, [1], pmf_of_geometric(1)),
    (geometric, [Fraction(2, 3)], pmf_of_geometric(Fraction(2, 3))),
    (discrete_laplace, [1], pmf_of_laplace(1)),
    (discrete_laplace, [Fraction(3, 2)], pmf_of_laplace(Fraction(3, 2))),
    (discrete_gaussian, [HALF], pmf_of_gaussian(HALF)),
    (polya, [Fraction(1, 4), HALF], pmf_of_polya(Fraction(1, 4), HALF)),
    (polya, [Fraction(1, 1000), THIRD], pmf_of_polya(Fraction(1, 1000), THIRD)),
    (polya, [Fraction(3, 4), Fraction(7, 3)], pmf_of_polya(Fraction(3, 4), Fraction(7, 3))),
    (exact_poisson, [HALF], pmf_of_poisson(HALF)),
    (exact_poisson, [1], pmf_of_poisson(1)),
    (exact_poisson, [Fraction(1, 2000)], pmf_of_poisson(Fraction(1, 2000))),
    (skellam, [Fraction(1, 5)], pmf_of_skellam(Fraction(1, 5))),
]


class TestExactLaw:
    """Each explored mass is at most the true one, and all together miss no more than the unexplored rest."""

    @pytest.mark.sparing(3)
    @pytest.mark.parametrize(("sampler", "parameters", "pmf"), EXPLORED, ids=map(name, EXPLORED))
    def test_paths_add_up_to_the_distribution(self, monkeypatch, sampler, parameters, pmf):
        monkeypatch.setattr(sampling, "_coin", one_step_coin)
        self.adds_up(lambda path: sampler(*parameters, path), pmf, rest=0.1)

    @for_each("gamma", [0, THIRD, 1, Fraction(7, 2)])
    def test_paths_add_up_to_e_to_the_minus_gamma(self, gamma):
        p = np.exp(-float(gamma))
        self.adds_up(lambda path: bernoulli_exp(gamma, path), lambda v: np.where(v == 1, p, 1 - p), rest=1e-9)

    def test_poisson_of_one_two_thousandth_is_exact_to_nine_digits(self):
        """The case whose samples looked mildly suspicious once: here without any sampling."""
        mean = Fraction(1, 2000)
        self.adds_up(lambda path: exact_poisson(mean, path), pmf_of_poisson(mean), rest=1e-9)

    @pytest.mark.sparing(1)
    @pytest.mark.parametrize("wrong", [pmf_of_geometric(1.05), pmf_of_poisson(0.5)])
    def test_a_wrong_distribution_is_rejected(self, wrong):
        with pytest.raises(AssertionError):
            self.adds_up(lambda path: geometric(1, path), wrong, rest=0.1)

    @pytest.mark.slow
    @for_each(("shape", "rate"), [(Fraction(1, 4), 1), (Fraction(3, 4), Fraction(7, 3)), (Fraction(1, 1000), HALF)])
    def test_paths_of_two_polyas_add_up_to_independent_ones(self, monkeypatch, shape, rate):
        """Also if they need more than one geometric."""
        monkeypatch.setattr(sampling, "_coin", one_step_coin)
        pmf = pmf_of_pair(pmf_of_polya(shape, rate))
        self.adds_up(lambda path: pair(draw_polyas(2, shape, rate, path)), pmf, rest=0.1)
        with pytest.raises(AssertionError):
            self.adds_up(lambda path: pair(polyas_that_share(shape, rate, path)), pmf, rest=0.1)

    @pytest.mark.slow
    def test_polya_of_thinned_units_is_rejected(self, monkeypatch):
        """It has the right mean."""
        monkeypatch.setattr(sampling, "_coin", one_step_coin)
        shape, rate = Fraction(1, 4), HALF
        self.adds_up(lambda path: polya(shape, rate, path), pmf_of_polya(shape, rate), rest=0.1)
        with pytest.raises(AssertionError):
            self.adds_up(lambda path: polya_of_thinned_units(shape, rate, path), pmf_of_polya(shape, rate), rest=0.1)

    def adds_up(self, sampler, pmf, rest):
        mass, unexplored = explored(sampler)
        assert unexplored < rest
        values = np.array(sorted(mass))
        gaps = pmf(values) - np.array([mass[value] for value in values.tolist()])
        assert gaps.min() > -1e-12
        assert gaps.sum() <= unexplored + 1e-12


class TestSampledLaw:
    @pytest.mark.sparing(24)
    @pytest.mark.parametrize(("sampler", "parameters", "pmf"), CASES, ids=map(name, CASES))
    def test_sample_has_the_distribution(self, sampler, parameters, pmf):
        same_distribution(sample(sampler, parameters, N // 4), pmf)

    @for_each("gamma", [0, THIRD, 1, Fraction(7, 2)])
    def test_bernoulli_exp(self, gamma):
        self.is_a_coin(sample(bernoulli_exp, [gamma]), np.exp(-float(gamma)))

    @for_each("p", [0, Fraction(1, 1000), THIRD, 1])
    def test_bernoulli(self, p):
        self.is_a_coin(sample(bernoulli, [p]), float(p))

    def is_a_coin(self, draws, p):
        assert draws.dtype == bool
        at_most(int(draws.sum()), draws.size, p)
        at_most(int((~draws).sum()), draws.size, 1 - p)

    @pytest.mark.slow
    @pytest.mark.parametrize("swapped", [np.exp(-0.1), 1 - np.exp(-0.2)])
    def test_polya_with_the_wrong_success_probability_is_rejected(self, swapped):
        with pytest.raises(AssertionError):
            same_distribution(sample(polya, [Fraction(1, 4), Fraction(1, 10)]), stats.nbinom(0.25, swapped).pmf)

    def test_laplace_that_counts_zero_twice_is_rejected(self):
        bits = seeded(1)
        signed = np.array([geometric(1, bits) * (1 - 2 * bits.below(2)) for _ in range(N)])
        with pytest.raises(AssertionError):
            same_distribution(signed, pmf_of_laplace(1))

    def test_continuous_gaussian_rounded_is_rejected(self):
        rounded = np.rint(np.random.Generator(np.random.PCG64(1)).normal(0, 0.5, N)).astype(int)
        with pytest.raises(AssertionError):
            same_distribution(rounded, pmf_of_gaussian(Fraction(1, 4)))

    @pytest.mark.slow
    def test_moments(self):
        mean_is(sample(polya, [Fraction(1, 4), HALF]), 0.25 / np.expm1(0.5))
        mean_is(sample(skellam, [4]) ** 2, 4)


class TestShares:
    """The sum of n differences of Pólya noise shares of shape 1/n is one discrete Laplace draw."""

    def sums(self, n, present, draws, rate):
        bits, shape = seeded(3), Fraction(1, n)
        return np.array(
            [sum(polya(shape, rate, bits) - polya(shape, rate, bits) for _ in range(present)) for _ in range(draws)]
        )

    @pytest.mark.slow
    @pytest.mark.parametrize("n", [1000, 3000])
    def test_fifty_noise_shares_make_a_laplace(self, n):
        """With 3000 a scale that is half too large is missed with a probability below 1e-6."""
        sums = self.sums(50, 50, n, Fraction(1, 5))
        same_distribution(sums, pmf_of_laplace(5))
        same_distribution_of_two(sums, sample(discrete_laplace, [5], n))

    @pytest.mark.slow
    def test_four_of_five_noise_shares_are_rejected(self):
        same_distribution(self.sums(5, 5, 8000, 1), pmf_of_laplace(1))
        with pytest.raises(AssertionError, match="another distribution"):
            same_distribution(self.sums(5, 4, 8000, 1), pmf_of_laplace(1))

    @pytest.mark.slow
    def test_two_skellam_halves_make_a_skellam(self):
        bits = seeded(4)
        same_distribution(np.array([skellam(2, bits) + skellam(2, bits) for _ in range(N)]), pmf_of_skellam(4))

    @pytest.mark.slow
    @for_each(("shape", "rate"), [(Fraction(1, 50), Fraction(1, 32)), (Fraction(2, 3), 1), (Fraction(7, 2), THIRD)])
    def test_polyas_that_are_drawn_at_once_are_independent(self, shape, rate):
        """A sample for tails that no path reaches; the second of three and the last one."""
        bits, pmf = seeded(5), pmf_of_pair(pmf_of_polya(shape, rate))
        same_distribution([pair(draw_polyas(3, shape, rate, bits)[1:]) for _ in range(N // 4)], pmf)
        with pytest.raises(AssertionError):
            same_distribution([pair(polyas_that_share(shape, rate, bits)) for _ in range(N // 4)], pmf)

    @pytest.mark.slow
    def test_shares_of_a_vector_make_a_laplace_of_each_number(self):
        bits, n = seeded(6), 5
        sums = np.array(
            [
                pair(np.sum([draw_laplace_shares(2, Fraction(1, n), 3, bits) for _ in range(n)], axis=0))
                for _ in range(N // 4)
            ]
        )
        law = pmf_of_laplace(3)
        same_distribution(sums, lambda z: law((z + 500) % 1000 - 500) * law((z + 500) // 1000))


class TestArguments:
    ONE = (geometric, discrete_laplace, discrete_gaussian, exact_poisson, skellam)
    BAD = (0, -1, Fraction(-1, 2), 0.5, True, "1", None, np.int64(1))

    @for_each(("sampler", "bad"), list(product(ONE, BAD)))
    def test_refused_by_name(self, sampler, bad):
        parameter = next(iter(inspect.signature(sampler).parameters))
        with pytest.raises(InvalidValue, match=rf"^{parameter} is .*: it must be an int or a Fraction above 0"):
            sampler(bad, Bits())

    @for_each("bad", BAD)
    def test_polya_refuses_by_name(self, bad):
        with pytest.raises(InvalidValue, match=r"^shape is"):
            polya(bad, 1, Bits())
        with pytest.raises(InvalidValue, match=r"^rate is"):
            polya(1, bad, Bits())
        with pytest.raises(InvalidValue, match=r"^scale is"):
            draw_laplace_shares(2, 1, bad, Bits())

    @for_each("bad", [-1, Fraction(4, 3), 2, 0.5, False])
    def test_bernoulli_refuses_by_name(self, bad):
        with pytest.raises(InvalidValue, match=r"^p is"):
            bernoulli(bad, Bits())

    @for_each("bad", [-1, Fraction(-1, 3), 0.5, None])
    def test_bernoulli_exp_refuses_by_name(self, bad):
        with pytest.raises(InvalidValue, match=r"^gamma is"):
            bernoulli_exp(bad, Bits())

    @pytest.mark.slow
    @settings(max_examples=200)
    @given(
        top=st.integers(1, 10**30),
        bottom=st.integers(1, 10**6),
        which=st.sampled_from((bernoulli_exp, geometric, discrete_laplace, discrete_gaussian)),
    )
    def test_any_fraction_gives_an_int(self, top, bottom, which):
        assert isinstance(which(Fraction(top, bottom), seeded(1)), int)


class TestFloatFree:
    def test_sampling_is_float_free(self):
        assert offences(inspect.getsource(sampling)) == []

    @for_each(
        ("line", "what"),
        [
            ("x = 0.5", "literal 0.5"),
            ("x = 1j", "literal 1j"),
            ("x = 1 / 2", "/"),
            ("x /= 2", "/"),
            ("x = 2 ** -1", "**"),
            ("x = 2 ** y", "**"),
            ("x = float(1)", "float"),
            ("x = map(float, y)", "float"),
            ("x = math.log(2)", "math.log"),
            ("x = np.exp(1)", "np.exp"),
            ("import math", "import math"),
            ("import numpy as fine", "import numpy"),
            ("import scipy.stats", "import scipy.stats"),
            ("from math import exp", "from math import exp"),
            ("from numpy.random import default_rng", "from numpy.random import default_rng"),
            ("def f():\n    import random", "import random"),
        ],
    )
    def test_what_brings_floats_is_found(self, line, what):
        assert what in [found for _, found in offences(line)]

    def test_line_numbers_and_indented_sources(self):
        assert offences("    def f():\n        return (1,\n            0.5)\n") == [(3, "literal 0.5")]

    @for_each(
        "line", ['"""a float 0.5 / 2"""', "x = 7 // 2", "x = y ** 2", "from math import isqrt", "x = math.comb(4, 2)"]
    )
    def test_what_is_exact_is_left_alone(self, line):
        assert offences(line) == []


@pytest.mark.slow
class TestLargeSamples:
    def test_polya_of_one_thousandth(self):
        """Some 1000 of the draws are not 0; a shape that is twice as large is missed with a probability below 1e-9."""
        r, g = Fraction(1, 1000), Fraction(1, 1000)
        same_distribution(sample(polya, [r, g], 150_000), pmf_of_polya(r, g))

    @pytest.mark.parametrize(("sampler", "parameters", "pmf"), CASES, ids=map(name, CASES))
    def test_sample_has_the_distribution(self, sampler, parameters, pmf):
        """A parameter that is half too large is missed with a probability below 1e-9: of a Pólya, the shape.

        Not so a rate of a Pólya, nor the shape 1/1000, as few draws are not 0: their laws are in `TestExactLaw`, and
        the latter's in the test above.
        """
        same_distribution(sample(sampler, parameters, 40_000, seed=1), pmf)
