"""Rules of the contextual loop, for two logs that differ in one user's contexts, reward and arm.

The decisions for all others and all that is told are forced to be the same, so that only the sums before noise can
differ. What that costs follows from the noises that were really drawn. If rewards alone are protected, nothing but the
reward differs.
"""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from maskedbandit.channels.channel import Channel
from maskedbandit.channels.counters import count_new_nodes
from maskedbandit.channels.local import Local
from maskedbandit.channels.tree import Tree
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.law import LAPLACE, NO_NOISE, draws_of_one
from maskedbandit.policies.contextual.ada_c_gope import AdaCGOPE
from maskedbandit.policies.contextual.centred_ucb import CentredUCB
from maskedbandit.policies.contextual.newton_ucb import NewtonUCB
from maskedbandit.privacy.statistics import Factors, clip_context
from maskedbandit.reports.audit.runs import Twin, break_nothing
from tests.audit.contextual_plays import Guests, Heard, listen

USERS, MANY, ARMS, D = 26, 300, 3, 2


def generator(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def rows_of(policy: Any) -> int:
    return ARMS if policy.lacks(1, True) else 1


def anybody(policy: Any, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Contexts of any length, and the rewards of all arms."""
    return rng.normal(size=(rows_of(policy), D)) * 10 ** rng.uniform(-1, 2), rng.integers(0, 2, ARMS).astype(float)


def log_for(policy: Any, rng: np.random.Generator, kind: type[Guests] = Guests) -> Guests:
    """Few users, or, if contexts are public, as many as that takes."""
    users = USERS if policy.protects == "users" else MANY
    both = [anybody(policy, rng) for _ in range(users)]
    contexts, paid = np.array([x for x, _ in both]), np.array([r for _, r in both])
    if isinstance(policy, AdaCGOPE):  # arms are fixed
        return kind(np.broadcast_to(contexts[0], contexts.shape), paid)
    return kind(contexts, paid, np.arange(users) // 9 % 2)


def cohorts(heard: Heard, guests: Guests) -> list[list[int]]:
    """The users of every release, if cohorts are of all who could have been in the model, in the order of arrival."""
    policy, m, pools = heard.play.policy, heard.play.progress.open.size, guests.pools()
    hidden = policy.protects == "users" and heard.play.law.kind != NO_NOISE
    could = [pools[t] if hidden else [arm] for t, arm in enumerate(heard.arms)]
    waiting = [[t for t in heard.arrived if m == 1 or model in could[t]] for model in range(m)]
    found = []
    for model, n, *_ in heard.sent:
        found.append(waiting[model][:n])
        del waiting[model][:n]
    assert [len(users) for users in found] == [n for _, n, *_ in heard.sent], "a release of users who are not there"
    assert [len(users) for users in waiting] == heard.play.progress.open.tolist(), "users who are in no cohort"
    return found


def vector(z: np.ndarray, of: Factors, products: Fraction | int) -> np.ndarray:
    """What a user adds, written down once more."""
    z = clip_context(z)
    pairs = combinations_with_replacement(range(z.size if products else 0), 2)
    return np.array([float(products) * of.products * z[i] * z[j] for i, j in pairs] + [of.reward * each for each in z])


def check_sums(heard: Heard, guests: Guests) -> None:
    """A release is the sum of its cohort's vectors; so every vector is in one release, or in an open cohort."""
    policy, m, g = heard.play.policy, heard.play.progress.open.size, heard.play.law.grid or 1.0
    factors = dict(zip(heard.arrived, heard.weighed, strict=True))
    if not isinstance(policy, CentredUCB | NewtonUCB):  # whose factors are in the tests of these policies
        assert factors == {t: (1, guests.rewards[t, heard.arms[t]]) for t in factors}, "not the reward of a user"
    for sent, users in zip(heard.sent, cohorts(heard, guests), strict=True):
        total = np.zeros_like(sent.sums)
        for t in users:
            arm = heard.arms[t]
            if m == 1 or arm == sent.model:
                x = guests.contexts[t][arm if guests.rows > 1 else 0]
                total += vector(x, factors[t], policy.products) * g
        np.testing.assert_array_equal(sent.sums, total, err_msg="not the sum of the vectors of a cohort")


def check_releases(heard: Heard) -> None:
    """What the policy closed is released and nothing else; every number has its draws of noise, all of them told."""
    play = heard.play
    assert [(model, n) for model, n, *_ in heard.sent] == heard.closed, "a cohort is released that is not whole"
    size, tree, releases = play.progress.release.size, isinstance(play.channel, Tree), Counter[int]()
    for sent in heard.sent:
        releases[sent.model] += 1
        draws = count_new_nodes(play.law, releases[sent.model]) if tree else 1
        assert len(sent.noises) == size * draws, f"{len(sent.noises)} draws of noise for {size} numbers"
        if not tree:
            assert draws_of_one(play.law, sent.n) == (sent.n if isinstance(play.channel, Local) else 1)
            shown = sent.released * play.law.grid - sent.sums
            np.testing.assert_array_equal(shown, [value for _, value in sent.noises], err_msg="other noise was told")


def distance(a: Heard, b: Heard, user: int, guests: Guests) -> tuple[np.ndarray, list[float]]:
    """How far apart the sums of two runs are, number by number, and the width of the noise that hides each."""
    shape = [(model, n, [width for width, _ in noises]) for model, n, _, noises, _ in a.sent]
    other = [(model, n, [width for width, _ in noises]) for model, n, _, noises, _ in b.sent]
    assert shape == other, "the releases are not the same: their cohorts betray the arm"
    apart, widths, size, tree = [np.zeros(0)], [], a.play.progress.release.size, isinstance(a.play.channel, Tree)
    all_noises = [noise for sent in a.sent for noise in sent.noises]
    moved: Counter[int] = Counter()
    for x, y, users in zip(a.sent, b.sent, cohorts(a, guests), strict=True):
        if np.any(x.sums != y.sums):
            assert user in users, "a user moves the sums of a cohort of others"
            moved[x.model] += 1
            apart.append(x.sums - y.sums)
            widths += [min((width for width, _ in (all_noises if tree else x.noises)), default=0.0)] * size
    assert all(count == 1 for count in moved.values()), "a user is in several cohorts of a model"
    return np.concatenate(apart), widths


def cost(apart: np.ndarray, widths: list[float], channel: Channel) -> float:
    """The pure loss of moving sums as far under such noise; rho, if it is Gaussian."""
    if not np.any(apart):
        return 0.0
    if min(widths) == 0:
        return np.inf
    nodes = (2 if channel.counter == "hybrid" else channel.levels) if isinstance(channel, Tree) else 1
    wide = np.array(widths)
    if channel.law().kind == LAPLACE:
        return float(nodes * (np.abs(apart) / wide).sum())
    return float(nodes * (apart**2 / (2 * wide**2)).sum())


def stated(channel: Any) -> float:
    """The same as the channel states it: its epsilon, or the rho of a deviation of 1 / epsilon."""
    if channel.law().kind == NO_NOISE:
        return 1.0
    return float(channel.epsilon if channel.law().kind == LAPLACE else channel.epsilon**2 / 2)


def neighbours(
    policy: Any, guests: Guests, rng: np.random.Generator, count: int
) -> Iterator[tuple[int, Guests, int | None]]:
    """A user, the log with another user instead, and the arm of that one; None: as it was.

    If rewards alone are protected, nothing else differs.
    """
    for _ in range(count):
        user, (contexts, paid) = int(rng.integers(len(guests.rewards))), anybody(policy, rng)
        if policy.protects == "rewards":
            yield user, guests.instead(user, guests.contexts[user], 1 - guests.rewards[user]), None
        else:
            yield user, guests.instead(user, contexts, paid), int(rng.choice(guests.pools()[user]))


def check_neighbours(
    policy: Any, channel: Channel, guests: Guests, others: Any, delay: Delay, twin: Twin = break_nothing
) -> float:
    """Nothing but the user's sums differs, and these by no more than the loss; the largest fraction of it."""
    first, worst = listen(policy, channel, guests, generator(1), delay, twin=twin), 0.0
    for user, other, arm in others:
        arms = [*first.arms[:user], first.arms[user] if arm is None else arm, *first.arms[user + 1 :]]
        again = listen(policy, channel, other, generator(1), delay, like=first, arms=arms, twin=twin)
        apart, widths = distance(first, again, user, guests)
        limits, g = policy.statistics(guests.d, guests.signed), first.play.law.grid or 1.0
        assert np.abs(apart).sum() <= limits.l1 * g, "further apart than l1"
        assert (apart**2).sum() <= limits.square * g * g, "further apart than the square"
        worst = max(worst, cost(apart, widths, first.play.channel) / stated(channel))
    assert worst <= 1 + 1e-9, f"a user costs {worst:.3f} times what is stated"
    return worst


def check(policy: Any, channel: Channel, delay: Delay, twin: Twin = break_nothing, kind: type[Guests] = Guests) -> None:
    """All rules, on a random log and random neighbours."""
    rng = generator(7)
    guests = log_for(policy, rng, kind)
    heard = listen(policy, channel, guests, generator(1), delay, twin=twin)
    assert len(heard.sent) > (3 if policy.protects == "users" else 0)
    check_releases(heard)
    check_neighbours(policy, channel, guests, neighbours(policy, guests, rng, 3), delay, twin)
    if not isinstance(policy, AdaCGOPE):  # whose rewards are multiplied with something else than contexts
        check_sums(heard, guests)
