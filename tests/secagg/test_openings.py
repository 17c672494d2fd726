"""What a lying server can open: the sum of all values that honest devices agreed on, or nothing.

In a signed round with the least threshold that the calculator allows, on the complete graph or on a sparse ring, the
server lies at random to real devices: who shared secrets, who survived, who voted, who is told nothing. What then comes
out is computed from the bytes that devices sent: own masks and keys for masks from key shares, and sums in which no
unknown mask is left.

Seeds are fixed. A lower threshold is the control: there the same lies open parts of sums, and single values.
"""

from contextlib import suppress
from dataclasses import replace
from random import Random

import pytest

from maskedbandit.errors import ProtocolError
from maskedbandit.secagg import masks
from maskedbandit.secagg.client import RoundClient
from maskedbandit.secagg.masks import KEY, SEED
from maskedbandit.secagg.parameters import complete_threshold, sparse_threshold
from maskedbandit.secagg.shamir import combine_shares, lagrange_weights
from tests.secagg.adversary import FOR_MASKS, OWN, Liar, planned
from tests.secagg.lies import vote
from tests.thrift import thrifty


class Opener(Liar):
    """A liar that takes all masks away that it can."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.posted: dict[int, set[int]] = {}  # with whom a device has a mask in its masked value

    def lie(self, user: int, shared: set[int]) -> None:
        """Tell a device who shared secrets."""
        self.hide([user], absent=self.values.keys() - shared)
        self.posted[user] = shared & set(self.around(user))

    def secret(self, user: int, which: int) -> bytes | None:
        """A secret of an honest user, if enough key shares of it are known."""
        known = self.key_shares_of(user, which)
        if len(known) < self.plan.threshold:
            return None
        return combine_shares(
            list(known.values()), lagrange_weights([self.x(holder, user) for holder in known])
        ).to_bytes(SEED)

    def opened(self) -> dict[frozenset[int], int]:
        """The least sets of honest users whose sum comes out, and the sum: checked against their values."""
        honest = self.values.keys() - self.corrupted
        m, found = self.plan.modulus, {}
        owns = {user: self.secret(user, OWN) for user in honest}
        keys = {user: self.secret(user, FOR_MASKS) for user in honest}
        keys |= {user: self.seeds[user][FOR_MASKS] for user in self.corrupted}
        left, open_ends = {}, {user for user, own in owns.items() if own is None}
        unknown: dict[int, set[int]] = {}
        for user in self.masked.keys() & honest - open_ends:
            session = self.sent[user][1][2 : 2 + KEY]
            rest, unknown[user] = self.masked[user] - masks.own_mask(owns[user], session, user, m), set()
            for other in self.posted[user]:
                mine, theirs = (user, other) if keys[user] is not None else (other, user)
                if keys[mine] is None:
                    unknown[user].add(other)
                    continue
                private, _ = masks.seed_key_pair(keys[mine], self.plan.round, b"mask")
                secret = masks.agree_secret(private, self.keys[theirs][KEY : 2 * KEY])
                rest -= masks.pair_mask(secret, session, user, other, m)
            left[user] = rest
        for user in left:
            together, more = set(), {user}
            while more:
                together |= more
                more = {other for each in more for other in unknown.get(each, {None})} - together
            if together <= left.keys() and all(a in unknown[b] for a in together for b in unknown[a]):
                found[frozenset(together)] = sum(left[each] for each in together) % m
        for users, total in found.items():
            assert total == sum(self.values[user] for user in users) % m
        return found


def lied(n: int, c: int, lower: int, seed: int, kind=RoundClient, k=None) -> Opener:
    """A random liar. Every device belongs to one of two camps, which mostly hear what their camp is to believe."""
    random = Random(seed)
    t = (complete_threshold(n - 1, c, True) if k is None else sparse_threshold(k, c, True)) - lower
    plan = planned(n, k=k, t=t, least=random.choice([t + 1, random.randint(t + 1, n)]), m=2**40)
    it = Opener(plan, {user: 1 << user for user in range(n)}, corrupted=range(n - c, n), kind=kind, seed=seed).until(2)
    everyone, honest = set(range(n)), range(n - c)
    camp = set(random.sample(honest, random.choice([len(honest) // 2, random.randint(0, len(honest))])))
    camps = [camp | it.corrupted, everyone - camp]
    parted, outcast = random.random() < 0.5, {random.choice(honest)}
    stories = camps if parted else [everyone, everyone - outcast]
    if random.random() < 0.2:
        stories = [story - it.corrupted for story in stories]
    noise = random.choice([0, 0, 0.1])  # how often it says something else
    for user in honest:
        shared = camps[user not in camp] if parted else everyone
        if random.random() < noise:
            shared = set(random.sample(range(n), random.randint(t, n)))
        answered(it.lie, user, shared | {user})
    received = {}
    for user in it.masked:
        story = stories[user not in camp] | (outcast & {user})
        if random.random() < noise:
            story = set(random.sample(range(n), random.randint(t, n))) | {user}
        if random.random() >= noise:
            received[user] = story
            answered(it.agree, story, [user])
    for user in it.corrupted:
        for story in received.values():
            it.signed[user, it.alive(story)] = vote(it, user, story)
    for user, story in received.items():
        answered(it.tell, user, it.ballots(user, story))
    it.stories = {frozenset(story) - it.corrupted for story in received.values()}
    return it


def answered(what, *args) -> None:
    with suppress(ProtocolError):  # the device has left
        what(*args)


CROWDS = [(4, 0, None), (5, 1, None), (6, 0, None), (6, 1, None), (6, 2, None), (7, 1, None), (8, 0, 6), (10, 1, 8)]


@pytest.mark.sparing(1)
@pytest.mark.parametrize(
    ("n", "c", "k"), thrifty(CROWDS, lambda crowd: crowd == (10, 1, 8))
)  # users, corrupted ones, neighbours on a sparse ring
def test_all_that_honest_devices_agreed_on_or_nothing(n, c, k):
    sums = 0
    for seed in range(10):
        it = lied(n, c, 0, seed, k=k)
        assert it.kept()
        opened = it.opened()
        assert len(opened) <= 1
        for users in opened:
            assert len(users) >= it.plan.least - c
            assert users in it.stories
        sums += len(opened)
    assert 0 < sums < 20  # so that this is about something


@pytest.mark.slow
@pytest.mark.parametrize(("n", "c"), [(6, 0), (7, 1)])
def test_a_lower_threshold_is_found_out(n, c):
    """Now two camps open a sum each, and a user who is in one story and not in the other is alone with its value."""
    found = [lied(n, c, 1, seed) for seed in range(25)]
    sums = [it.opened() for it in found]
    assert any(len(each) > 1 for each in sums)
    assert any(len(users) < it.plan.least - c for it, each in zip(found, sums, strict=True) for users in each)
    with pytest.raises(AssertionError, match="both secrets"):
        assert all(it.kept() for it in found)


class SkipsLeast(RoundClient):
    """A mutant that does not count the values in the sum."""

    def _agree(self, message):
        self.plan = replace(self.plan, least=self.plan.threshold + 1)
        return super()._agree(message)


@pytest.mark.slow
def test_devices_that_do_not_count_are_found_out():
    """At the right threshold: fewer values come out than the plan demands."""
    found = [lied(n, c, 0, seed, SkipsLeast) for n, c in ((6, 1), (6, 2)) for seed in range(20)]
    assert any(len(users) < it.plan.least - len(it.corrupted) for it in found for users in it.opened())
