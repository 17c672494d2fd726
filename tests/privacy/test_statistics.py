"""How far two users can be apart: bounds that no pair exceeds and some pair attains, in whole numbers of steps."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.engine.compiler import compile_loop
from maskedbandit.privacy.statistics import (
    CONTEXT_STEPS,
    SINGLE_REWARD,
    Statistics,
    clip_context,
    clip_factors,
    clip_vector,
    linear_sums,
    reward_sums,
    root_above,
    weighted_sums,
)
from tests.for_each import for_each

DIMENSIONS = [1, 2, 6]


def added(z, r):
    """(z z', r z), each product once."""
    return np.array([*(z[i] * z[j] for i in range(z.size) for j in range(i, z.size)), *(r * z)])


def apart(u, v):
    """Distances of two users of one model, and of two models: in sum, in squares."""
    return (
        (np.abs(u - v).sum(), np.square(u - v).sum()),
        (np.abs(u).sum() + np.abs(v).sum(), np.square(u).sum() + np.square(v).sum()),
    )


def contexts(d, rng, size):
    """Directions of every kind, on the sphere, outside and inside of it; as they are before anybody clips them."""
    z = rng.standard_normal((size, d))
    z[: size // 3] = rng.choice([-1.0, 0.0, 1.0], (size // 3, d))
    z /= np.maximum(np.linalg.norm(z, axis=1), 1e-9)[:, None]
    return z * rng.choice([0.5, 1.0, 1.0, 3.0], (size, 1))


def worst(d, prepared, seed=1, size=1500):
    """The largest distances of random pairs of users, in sum and in squares."""
    z = [prepared(each) for each in contexts(d, np.random.default_rng(seed), size)]
    pairs = [apart(added(a, r), added(b, s)) for a, b in pairwise(z) for r, s in ((1, 1), (1, 0))]
    return np.array(pairs).max(axis=(0, 1))


def at_120_degrees(d):
    """Two unit vectors whose z z' - v v' is diagonal."""
    z = np.zeros(d)
    z[:2] = math.cos(math.pi / 12), -math.sin(math.pi / 12)
    return z, np.concatenate((z[1::-1], z[2:]))


class TestLinear:
    @pytest.mark.slow
    @for_each("d", DIMENSIONS)
    def test_no_two_users_are_further_apart(self, d):
        l1, square = worst(d, clip_context)
        assert l1 <= linear_sums(d).l1
        assert square <= linear_sums(d).square

    @pytest.mark.slow
    @for_each("d", DIMENSIONS)
    def test_contexts_that_nobody_clipped_are_further_apart(self, d):
        """The control."""
        l1, square = worst(d, lambda z: z)
        assert l1 > 1.5 * linear_sums(d).l1
        assert square > 1.5 * linear_sums(d).square

    @for_each("d", DIMENSIONS)
    def test_two_models_attain_the_sum(self, d):
        z = np.full(d, d**-0.5)
        assert apart(added(z, 1), added(z, 1))[1][0] == pytest.approx(float(linear_sums(d).l1), rel=2e-6)
        cut = added(clip_context(z), 1)
        assert float(linear_sums(d).l1) * 0.99 < apart(cut, cut)[1][0] <= linear_sums(d).l1

    @for_each("d", [2, 6])
    def test_120_degrees_attain_the_square(self, d):
        z, v = at_120_degrees(d)
        assert apart(added(z, 1), added(v, 1))[0][1] == pytest.approx(4.5, rel=1e-12)
        assert 4.48 < apart(added(clip_context(z), 1), added(clip_context(v), 1))[0][1] <= 4.5

    def test_no_angle_exceeds_the_square(self):
        """All pairs of a plane, degree by degree, of four lengths; the bound of different models would be too small."""
        angle = np.deg2rad(np.arange(360))
        z = np.concatenate([length * np.stack([np.cos(angle), np.sin(angle)]) for length in (1, 0.9, 0.5, 0.1)], axis=1)
        u = np.stack([z[0] * z[0], z[0] * z[1], z[1] * z[1], z[0], z[1]])
        square = (u * u).sum(0)[:, None] + (u * u).sum(0)[None, :] - 2 * u.T @ u
        assert 4 < 4.5 - 1e-9 < square.max() < 4.5 + 1e-9

    def test_of_one_number_two_models_are_as_far_apart_as_opposite_contexts(self):
        pair = apart(added(np.array([1.0]), 1), added(np.array([-1.0]), 1))
        assert pair == ((2, 4), (4, 4))

    @for_each("d", DIMENSIONS)
    def test_numbers_are_whole_steps_in_range(self, d):
        statistics = linear_sums(d)
        for z in contexts(d, np.random.default_rng(2), 200):
            u = added(clip_context(z), 1) * statistics.steps
            assert u.size == statistics.size
            assert np.array_equal(u, np.rint(u))
            assert statistics.low * statistics.steps <= u.min()
            assert u.max() <= statistics.steps


def weighed(z, a, b, c):
    """(c a z z', b z), each product once."""
    return np.concatenate([float(c) * a * np.outer(z, z)[np.triu_indices(z.size)], b * z])


def worst_weighed(d, c, most, size=1500):
    """The largest distances of random pairs of users, in sum and in squares, whose |b| is at most `most`."""
    rng = np.random.default_rng(1)
    z = [clip_context(each) for each in contexts(d, rng, size)]
    a, b = rng.choice([0.0, 0.5, 1.0, rng.random()], size), rng.choice([-most, most, rng.uniform(-most, most)], size)
    users = [weighed(*each, c) for each in zip(z, a, b, strict=True)]
    near = [weighed(each, x, y, c) for each, x, y in zip(z, a[::-1], -b, strict=True)]  # the same context
    pairs = [apart(u, v) for others in (users[1:], near) for u, v in zip(users, others, strict=False)]
    return np.array(pairs).max(axis=(0, 1))


def at_an_eighth(c):
    """Two unit vectors whose product is 1 / (8 c^2), and of which z z' - v v' is diagonal."""
    angle = (math.pi / 2 - math.acos(1 / (8 * c * c))) / 2
    z = np.array([math.cos(angle), math.sin(angle)])
    return z, z[::-1]


class TestWeighted:
    @pytest.mark.slow
    @for_each("d", DIMENSIONS)
    @for_each("c", [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(1)])
    def test_no_two_users_are_further_apart(self, d, c):
        l1, square = worst_weighed(d, c, 0.5)
        assert l1 <= weighted_sums(d, c).l1
        assert square <= weighted_sums(d, c).square

    @pytest.mark.slow
    @for_each("d", DIMENSIONS)
    def test_factors_that_nobody_clipped_are_further_apart(self, d):
        """The control: b = r - p, which is not divided by its range."""
        _, square = worst_weighed(d, Fraction(1, 4), 1.0)
        assert square > 3 * weighted_sums(d, Fraction(1, 4)).square

    @for_each("d", DIMENSIONS)
    @for_each("c", [Fraction(1, 4), Fraction(1)])
    def test_two_models_attain_the_sum(self, d, c):
        z = weighed(np.full(d, d**-0.5), 1.0, 0.5, c)
        assert apart(z, z)[1][0] == pytest.approx(float(weighted_sums(d, c).l1), rel=2e-6)

    @for_each("c", [Fraction(1, 256), Fraction(1, 4), Fraction(5, 8)])
    def test_one_context_attains_the_square_if_products_count_little(self, c):
        z = np.array([1.0, 0.0])
        assert apart(weighed(z, 1.0, 0.5, c), weighed(z, 0.0, -0.5, c))[0][1] == weighted_sums(2, c).square

    @for_each("c", [Fraction(3, 4), Fraction(1)])
    def test_two_contexts_attain_it_else(self, c):
        z, v = at_an_eighth(float(c))
        found = apart(weighed(z, 1.0, 0.5, c), weighed(v, 1.0, -0.5, c))[0][1]
        assert found == pytest.approx(float(weighted_sums(2, c).square), rel=1e-12)
        assert found > 1 + c * c  # the other case would be too small

    @pytest.mark.slow
    @for_each("c", [Fraction(1, 4), Fraction(1, 2), Fraction(1)])
    def test_no_angle_exceeds_the_square(self, c):
        """All pairs of a plane, degree by degree, with all extreme factors; 99 % of the bound is too small."""
        angle = np.deg2rad(np.arange(360))
        z = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        users = np.array([weighed(each, a, b, c) for each in z for a in (0, 1) for b in (-0.5, 0.5)])
        norms = (users * users).sum(axis=1)
        largest = (norms[:, None] + norms[None, :] - 2 * users @ users.T).max()
        assert 0.99 * weighted_sums(2, c).square < largest < weighted_sums(2, c).square + 1e-9

    @for_each("c", [Fraction(1, 256), Fraction(1, 2), Fraction(1)])
    def test_numbers_are_whole_steps_in_range(self, c):
        statistics, rng = weighted_sums(3, c), np.random.default_rng(2)
        for z in contexts(3, rng, 200):
            factors = clip_factors(rng.uniform(-0.5, 1.5), rng.uniform(-1, 1))
            u = weighed(clip_context(z), *factors, c) * statistics.steps
            assert u.size == statistics.size
            assert np.array_equal(u, np.rint(u))
            assert np.abs(u).max() <= statistics.steps

    @given(st.floats(allow_nan=False), st.floats(allow_nan=False))
    @settings(max_examples=150, derandomize=True, deadline=None)
    def test_factors_are_clipped_to_their_ranges(self, a, b):
        found = clip_factors(a, b)
        assert 0 <= found.products <= 1
        assert -0.5 <= found.reward <= 0.5
        assert abs(min(max(a, 0), 1) - found.products) <= 1 / 128
        assert abs(min(max(b, -0.5), 0.5) - found.reward) <= 2**-15


@for_each("d", DIMENSIONS)
def test_of_public_contexts_a_user_adds_the_context_or_nothing(d):
    statistics = reward_sums(d)
    for z in contexts(d, np.random.default_rng(3), 500):
        u = clip_context(z)
        assert np.abs(u).sum() <= statistics.l1
        assert u @ u <= statistics.square
        assert np.array_equal(u * statistics.steps, np.rint(u * statistics.steps))
    even = np.full(d, d**-0.5)
    assert even.sum() == pytest.approx(float(statistics.l1), rel=2e-6)
    assert any(np.abs(z).sum() > statistics.l1 for z in contexts(d, np.random.default_rng(3), 500))  # the control


@for_each("d", DIMENSIONS)
def test_two_users_differ_in_so_many_numbers(d):
    """Of two models they are, with whole contexts: in all numbers of both; of public ones in r z alone."""
    z = clip_context(np.full(d, d**-0.5))
    blocks = np.zeros((2, 2, linear_sums(d).size))
    blocks[0, 0] = blocks[1, 1] = added(z, 1)
    assert linear_sums(d).moved == linear_sums(d, False, Fraction(1, 4)).moved == (blocks[0] != blocks[1]).sum()
    assert linear_sums(d).moved == 2 * linear_sums(d).size
    assert reward_sums(d).moved == reward_sums(d).size == (z != 0).sum()
    assert SINGLE_REWARD.moved == 1


@for_each("products", [Fraction(1, 3), Fraction(1, 512), Fraction(3, 257), 0, -1, Fraction(257, 256)])
def test_products_are_on_the_grid_of_contexts(products):
    for sums in (lambda: linear_sums(2, True, products), lambda: weighted_sums(2, products)):
        with pytest.raises(InvalidValue, match=r"products is .*a multiple of 1/256, above 0 and at most 1"):
            sums()


@for_each("products", [Fraction(1, 256), Fraction(3, 256), Fraction(3, 4), Fraction(1)])
def test_with_products_numbers_are_whole_steps_too(products):
    statistics = linear_sums(2, True, products)
    for z in contexts(2, np.random.default_rng(6), 50):
        u = added(clip_context(z), 1)
        u[:3] *= float(products)
        assert np.array_equal(u * statistics.steps, np.rint(u * statistics.steps))


def squares(z):
    """|q|^2 in whole numbers, q the steps of a context."""
    q = np.asarray(z) * CONTEXT_STEPS
    assert np.array_equal(q, np.rint(q))
    return sum(int(each) ** 2 for each in q)


def rounded(z):
    """A mutant that takes the nearest step."""
    return np.rint(z / max(1.0, np.linalg.norm(z)) * CONTEXT_STEPS) / CONTEXT_STEPS


numbers = st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.floats(-2, 2), min_size=1, max_size=8)


class TestClip:
    @pytest.mark.slow
    @given(numbers)
    @settings(max_examples=150, derandomize=True, deadline=None)
    def test_the_norm_is_at_most_one_exactly(self, z):
        found = clip_context(z)
        assert squares(found) <= CONTEXT_STEPS**2
        assert np.all(np.sign(found) * np.sign(z) >= 0)

    @pytest.mark.slow
    @given(numbers)
    @settings(max_examples=150, derandomize=True, deadline=None)
    def test_what_is_inside_is_cut_and_what_is_outside_is_scaled(self, z):
        exact = [Fraction(each) for each in z]
        square, q = sum(each**2 for each in exact), clip_context(z) * CONTEXT_STEPS
        if square <= Fraction(999_999, 10**6):
            assert [int(each * CONTEXT_STEPS) for each in exact] == q.tolist()
        elif square > 1:
            norm = Fraction(math.isqrt(int(square * 2**80))) / 2**40
            for each, found in zip(exact, q.tolist(), strict=True):
                assert abs(found) <= abs(each) / norm * CONTEXT_STEPS + Fraction(1, 10**9)
                assert abs(found) > abs(each) / norm * CONTEXT_STEPS - 1 - Fraction(1, 10**9)

    @for_each("d", range(1, 40))
    def test_vectors_on_the_sphere_and_beyond(self, d):
        rng = np.random.default_rng(d)
        for scale in (1.0, 1 + 1e-15, 1e-300, 1e150, 1e308):
            z = np.sign(rng.standard_normal(d)) * scale * d**-0.5
            assert squares(clip_context(z)) <= CONTEXT_STEPS**2
        for k in range(d):  # whole steps with the norm 1, or a little more, stay where they are or shrink
            z = np.zeros(d)
            z[k] = 1.0
            assert np.array_equal(clip_context(z), z)
            assert np.array_equal(clip_context(np.nextafter(1, 2) * z), z)

    def test_the_nearest_step_may_be_outside(self):
        """The control."""
        assert squares(rounded(np.full(3, 3**-0.5))) > CONTEXT_STEPS**2 >= squares(clip_context(np.full(3, 3**-0.5)))

    @for_each("signed", [True, False])
    def test_compiled_it_gives_the_same_numbers(self, signed):
        in_place = compile_loop(clip_vector.function)
        for z in (*contexts(6, np.random.default_rng(4), 300), np.array([math.nan, math.inf, -1e308, 1.0])):
            plain, fast = z.copy(), z.copy()
            clip_vector(plain, signed)
            in_place(fast, signed)
            assert np.array_equal(plain, fast)
            assert signed or np.all(plain >= 0)
            assert squares(plain) <= CONTEXT_STEPS**2

    def test_what_is_no_number_counts_as_nothing_in_the_kernel(self):
        z = np.array([math.nan, 0.5, math.inf, -math.inf, -0.25])
        clip_vector(z, True)
        assert z.tolist() == [0, 0.5, 0, 0, -0.25]
        clip_vector(z, False)
        assert z.tolist() == [0, 0.5, 0, 0, 0]

    @for_each("z", [[math.nan], [0.5, math.inf], [[0.1]], 0.5, [-math.inf]])
    def test_what_is_no_vector_is_refused(self, z):
        with pytest.raises(InvalidValue, match="context"):
            clip_context(z)

    def test_the_vector_given_stays_as_it_is(self):
        z = np.array([3.0, 4.0])
        clip_context(z)
        assert z.tolist() == [3, 4]


@pytest.mark.slow
@given(st.fractions(min_value=Fraction(1, 1000), max_value=10**6))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_a_root_is_from_above_and_near(value):
    root = root_above(value)
    assert root**2 >= value > (root - Fraction(1, 10**6)) ** 2


class TestValues:
    @for_each(
        ("name", "value"),
        [
            *product(["size", "steps", "moved"], [0, -1, 1.5, True]),
            *product(["l1", "square"], [0, -1, 0.5]),
            ("low", 1),
        ],
    )
    def test_refused(self, name, value):
        with pytest.raises(InvalidValue, match=name):
            replace(SINGLE_REWARD, **{name: value})

    @for_each("d", [0, -1, 1.5, True, None, 10**4])
    @for_each("of", [linear_sums, weighted_sums, reward_sums])
    def test_dimensions(self, d, of):
        with pytest.raises(InvalidValue, match="d is"):
            of(d)

    def test_norms_are_fractions(self):
        assert Statistics(2, 2, 2, 0, 1, 2) == Statistics(2, Fraction(2), Fraction(2), 0, 1, 2)
        assert type(Statistics(2, 2, 2, 0, 1, 2).l1) is Fraction
