"""On a sparse ring a lying server opens the sum of all honest values on one list of survivors, or nothing.

The theorem and its proof are in docs/secure_sums.md. Here the lies of which it speaks are told to real devices with
signed keys, and small rings are searched for all lies. Devices without one of the checks are the controls.
"""

from dataclasses import replace

import pytest

from maskedbandit.errors import TooFew
from maskedbandit.secagg.client import RoundClient
from maskedbandit.secagg.parameters import sparse_threshold
from tests.for_each import for_each
from tests.secagg.adversary import planned
from tests.secagg.lies import vote
from tests.secagg.split_search import Lie, split
from tests.secagg.test_openings import Opener, answered
from tests.secagg.test_stories import SkipsVotes


class SkipsNeighbours(RoundClient):
    """A mutant that does not count the neighbours who are said to have survived."""

    def _agree(self, message):
        plan, self.plan = self.plan, replace(self.plan, threshold=2)
        answer = super()._agree(message)
        self.plan = plan
        return answer


class SkipsBoth(SkipsNeighbours, SkipsVotes):
    """A mutant that takes any list of survivors that names enough users: as devices on sparse rings did once."""


def lonely(kind, k=8) -> Opener:
    """Each neighbour of user 0 hears that the other ones are lost; all others hear that all of them are."""
    n = 3 * k
    plan = planned(n, k=k, t=sparse_threshold(k, 0, malicious=True), least=n - k, m=2**40)
    it = Opener(plan, kind=kind).until(2)
    everyone, near = set(range(n)), set(it.ring.around(0))
    for user in everyone:
        it.lie(user, everyone)
    tell(it, {user: everyone - near | ({user} if user in near else set()) for user in everyone})
    return it


def tell(it: Opener, received: dict[int, set[int]], answers=None) -> None:
    """Each device hears of its survivors, and then of all votes for them; corrupted devices sign everything."""
    for user, story in received.items():
        answered(it.agree, story, [user])
    for user in it.corrupted:
        for story in received.values():
            it.signed[user, it.alive(story)] = vote(it, user, story)
    for user, story in received.items():
        if answers is None or user in answers:
            answered(it.tell, user, it.ballots(user, story))


class TestOneDevice:
    def test_is_not_opened(self):
        """Whoever is told that few of its neighbours survived signs nothing, and answers nothing."""
        it = lonely(RoundClient)
        assert it.opened() == {}
        assert it.kept()
        for user in it.ring.around(0):
            assert len(it.sent[user]) == 3
            assert it.silent(user)

    def test_is_opened_if_devices_check_nothing(self):
        it = lonely(SkipsBoth)
        assert it.opened()[frozenset({0})] == it.values[0]
        assert it.kept()  # of nobody are both secrets known: that alone does not protect the value

    @pytest.mark.slow
    @for_each("kind", [SkipsVotes, SkipsNeighbours])
    def test_each_check_stops_this_lie(self, kind):
        assert frozenset({0}) not in lonely(kind).opened()

    def test_the_refusal_is_named(self):
        it = Opener(planned(24, k=8, t=6, least=8)).until(3)
        near = it.ring.around(0)
        with pytest.raises(TooFew, match="5 neighbours are said to have survived: 6 are needed"):
            it.tell(0, it.survivors(0, set(range(24)) - set(near[:3])))
        assert it.silent(0)


def carried_out(lie: Lie, n: int, k: int, t: int, corrupted=(), kind=RoundClient) -> Opener:
    """The lie, told to real devices. Users are numbers, and a lie names their positions on the ring."""
    it = Opener(planned(n, k=k, t=t, least=min(map(len, lie.stories)), m=2**40), kind=kind)
    it.open()
    at = it.ring.order
    it.corrupted = {at[u] for u in corrupted}
    it.share()
    for u, seen in lie.sees.items():
        it.lie(at[u], {at[w] for w in seen})
    stories = [{at[u] for u in story} for story in lie.stories]
    tell(it, {at[u]: stories[s] for u, s in lie.signed.items()}, {at[u] for u in lie.answers})
    return it


RINGS = [(6, 4, ()), (8, 6, ()), (12, 6, ()), (10, 6, (0,))]


class TestAllLies:
    """With two lists of survivors, on small rings."""

    @for_each(("n", "k", "corrupted"), RINGS)
    def test_none_splits_the_sum(self, n, k, corrupted):
        assert split(n, k, sparse_threshold(k, len(corrupted), malicious=True), corrupted) is None

    @pytest.mark.slow
    @for_each(("n", "k"), [(10, 6), (12, 6)])
    def test_without_votes_some_do(self, n, k):
        """The control: the lie that the search finds is told to devices that check no votes, and opens a part."""
        t = sparse_threshold(k, 0, malicious=True)
        lie = split(n, k, t, votes=False)
        it = carried_out(lie, n, k, t, kind=SkipsVotes)
        assert {frozenset(it.ring.order[u] for u in lie.opened)} <= it.opened().keys()
        assert len(lie.opened) < it.plan.least
        assert carried_out(lie, n, k, t).opened() == {}
