"""What a live study and the lab's rehearsals share: who gets which arm, and what the policy is asked and told.

    ask -> assign -> ... -> assign -> close -> tell -> ask -> ...

The driver asks the policy when no place is left to be dealt, and not again after an answer for nobody before something
was told. It gives the users who come the places of the cohorts that were asked for (deck.py), or serves them an arm
while there is nothing to ask for. The caller has the clock: it closes a cohort at the deadline of its last place, and
tells its release. Meanwhile the next cohorts are dealt. A policy is not told which cohort a release is of: where
devices drop out, the releases of an arm should be told in the order of its cohorts, or some policies confuse them.

There is no clock, no network and no file here. All that the policy decides follows from the seed of the study and from
the log, which lists what was asked, with the answers, and what was told:

    ("ask", number, arm, n, close)        number counts all asks from 0; each has a generator of its own (decisions.py)
    ("tell", cohort, n, total)            cohorts are numbered from 0 in the order in which they were asked for
    ("stage", aim, arm, ..., arm)         from here on these arms are in play

A control arm (control.py) is none of those that the policy knows. What is asked for it is in the log as all else.

In a stage the same arms are in play. A policy that starts anew numbers them as they are listed, and is told nothing of
the cohorts before, whose releases count for the arm that is served. So what it guarantees holds for the stage.

Which places are dealt to whom is drawn with bits of the caller's, and it is the caller who stores it.

Whatever is refused, is refused with a named error, and nothing has changed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from fractions import Fraction
from typing import Any, NamedTuple

from maskedbandit.checks import is_number
from maskedbandit.core import TOGETHER, Decision, Release
from maskedbandit.errors import Disagreement, IllegalDecision, InvalidValue, OutOfTurn, ProtocolError
from maskedbandit.law import Law
from maskedbandit.policies.contextual_policy import ContextualPolicy
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.exact import to_whole
from maskedbandit.privacy.sampling import Bits
from maskedbandit.study.control import Control
from maskedbandit.study.decisions import check_seed, decision_generator
from maskedbandit.study.deck import CohortDeck, Places
from maskedbandit.study.illegal import check_decision


class Assignment(NamedTuple):
    """What a user gets; without a cohort the user is served the arm, and nobody asks for the reward."""

    arm: int
    cohort: int | None
    place: int | None  # in the cohort
    propensity: Fraction  # the probability with which the user was to get this arm


class Driver:
    """The driver of a study with k arms; `aim` is what the policy's `init` gets, the horizon or δ.

    >>> from maskedbandit.policies.regret.successive_elimination import SuccessiveElimination
    >>> from maskedbandit.channels.central import Central
    >>> driver = Driver(SuccessiveElimination(least=2), Central(epsilon=1).law(), 2, 1000, bytes(16))
    >>> sorted(driver.assign(Bits()).arm for user in range(4)), driver.cohorts[0].full
    ([0, 0, 1, 1], True)
    >>> driver.close(0)
    >>> driver.tell(0, 2, 1.5)
    >>> driver.log
    [('ask', 0, 0, 2, 2), ('ask', 1, 1, 2, 1), ('tell', 0, 2, 1.5)]
    """

    def __init__(self, policy: Policy, law: Law, k: int, aim: Any, seed: bytes, control: Control | None = None) -> None:
        check_seed(seed)
        if not isinstance(policy, Policy) or isinstance(policy, ContextualPolicy):
            raise InvalidValue("policy", policy, "one of arms without contexts, such as UCB1()")
        self.policy, self.law, self.k, self.seed = policy, law, to_whole("k", k, 1), seed
        self.control = control  # while people are given it
        self.arms = self._without_control(range(self.k))  # in play, which the policy knows
        self.state, self._serves = policy.init(len(self.arms), aim), policy.purpose.serves
        self.log: list[tuple[Any, ...]] = []
        self.deck = CohortDeck()
        self._asked, self._in_flight = 0, 0  # decisions so far; the policy's cohorts that are complete and not told
        self._placed, self._given = 0, 0  # places that were asked for, by the policy and for the control
        self._idle: Decision | None = None  # the last answer, if it was for nobody and nothing was told since
        self._released = [(0, Fraction(0))] * self.k  # n and total of all releases

    @property
    def cohorts(self) -> Sequence[Places]:
        """All cohorts, by number."""
        return self.deck.cohorts

    def recorded(self) -> list[Release]:
        """All releases, in the order in which they were told."""
        told = [(self.deck.cohort(entry[1]), entry[2], entry[3]) for entry in self.log if entry[0] == "tell"]
        return [Release(places.arm, n, total, places.epoch) for places, n, total in told]

    @property
    def answer(self) -> int | None:
        """The arm of the policy's final answer, with which all later users are served; None if it may ask for more."""
        if self._idle is None or self._idle.arm < 0 or (self._in_flight and self._serves):
            return None
        return self._idle.arm

    def ask(self) -> None:
        """Ask the policy for its next decision, if it is due: no place is left, and there is something new."""
        if self._due() and self.deck.empty:
            self._ask()

    def assign(self, bits: Bits, is_full: Callable[[Places], bool] | None = None) -> Assignment:
        """What the next user gets: one of the places that are left, at random, or else just an arm.

        While the policy asks for nobody that is the arm that it names, or else the one of the highest mean in what was
        released; before the first release it is any arm, each with the same probability.
        """
        if self.deck.empty:
            self.ask()
        if not self.deck.empty and self.answer is None:
            full = [] if is_full is None else [each.cohort for each in self.deck.dealing if is_full(each)]
            if (dealt := self.deck.deal(bits, full)) is not None:
                places, place, propensity = dealt
                return Assignment(places.arm, places.cohort, place, propensity)
        return self.serve(bits)

    def serve(self, bits: Bits) -> Assignment:
        """What a user gets without a place: see `assign`."""
        if self._idle is not None and self._idle.arm >= 0:
            return Assignment(self._idle.arm, None, None, Fraction(1))
        means = {arm: total / n for arm in self.arms for n, total in [self._released[arm]] if n > 0}
        if not means:
            many = len(self.arms)
            return Assignment(self.arms[bits.below(many)], None, None, Fraction(1, many))
        return Assignment(max(means, key=means.__getitem__), None, None, Fraction(1))  # the first one of ties

    def give_back(self, cohort: int, place: int) -> None:
        """Leave a place to be dealt again, whose user was never shown the arm; the cohort is not closed yet."""
        places = self.deck.cohort(cohort)
        if places.closed:
            raise OutOfTurn(f"cohort {cohort} is closed: none of its places can be given back")
        places.give_back(place)
        self.deck.sort(places)

    def close(self, cohort: int) -> None:
        """The deadline of the cohort's last place has passed: its places can no longer be given back."""
        places = self.deck.cohort(cohort)
        if places.closed or not places.full:
            raise OutOfTurn(f"cohort {cohort} is {'already closed' if places.closed else 'not full'}")
        places.closed = True

    def reopen(self, cohort: int) -> None:
        """A closed cohort was thrown away and can never be released: all its places are dealt again, to other users."""
        places = self.deck.cohort(cohort)
        if places.release or not places.closed:
            raise OutOfTurn(f"cohort {cohort} is {'already released' if places.release else 'not closed'}")
        places.closed = False
        places.all_dealt(False)
        self.deck.sort(places)

    def tell(self, cohort: int, n: int, total: float) -> None:
        """Tell the policy the release of a closed cohort, the noisy sum of n rewards; a second time has no effect."""
        places = self.deck.cohort(cohort)
        n = to_whole(f"n of the release of cohort {cohort}", n, 1, places.size)
        if not is_number(total) or not abs(total) <= sys.float_info.max:
            raise InvalidValue(f"the total of cohort {cohort}", total, "a finite number")
        release = n, float(total)
        if places.release and places.release != release:
            raise Disagreement(f"the release of cohort {cohort} is {places.release}: it cannot be {release} as well")
        if not places.closed:
            raise OutOfTurn(f"cohort {cohort} is not closed: its release cannot be told")
        if places.release:
            return
        if not places.ended and places.arm in self.arms:
            with self._or_unchanged():
                self.policy.tell(self.state, self.arms.index(places.arm), *release)
            if self.answer is None:
                self._idle = None
            self._in_flight -= 1
        before, sum_before = self._released[places.arm]
        self._released[places.arm] = before + n, sum_before + Fraction(release[1])
        self.deck.release(places, *release)
        self.log.append(("tell", cohort, *release))

    def begin_stage(self, arms: Sequence[int], aim: Any) -> None:
        """From now on these arms are in play, of which the last may be a new one; `aim` is that of the stage.

        No place of the cohorts so far is dealt any more. An arm that is alone in play, be it beside the control, is the
        answer. A control that is none of them is over.
        """
        arms = tuple(to_whole("an arm in play", arm, 0, self.k) for arm in arms)
        known = self._without_control(arms)
        if not known or list(arms) != sorted(set(arms)):
            raise InvalidValue("arms", arms, "at least one, each once, in the order of their numbers")
        try:
            self.state = self.policy.init(len(known), aim) if len(known) > 1 else None
        except Exception as why:
            raise IllegalDecision(f"{type(self.policy).__name__} cannot begin a stage of {len(known)} arms") from why
        self._released += [(0, Fraction(0))] * (arms[-1] + 1 - self.k)
        self.k, self.arms = max(self.k, arms[-1] + 1), known
        self.control = self.control if len(known) < len(arms) else None
        self.deck.end_stage()
        self._in_flight, self._idle = 0, Decision(known[0], 0, 0) if len(known) == 1 else None
        self.log.append(("stage", aim, *arms))

    def _without_control(self, arms: Iterable[int]) -> tuple[int, ...]:
        return tuple(arm for arm in arms if self.control is None or arm != self.control.arm)

    @classmethod
    def replay(
        cls,
        policy: Policy,
        law: Law,
        k: int,
        aim: Any,
        seed: bytes,
        log: Iterable[Sequence[Any]],
        dealt: Iterable[tuple[int, int]] = (),
        closed: Iterable[int] = (),
        control: Control | None = None,
    ) -> Driver:
        """The driver that wrote this log, or raise `InvalidValue` if it does not fit.

        Of the cohorts that were not told, `dealt` are those places, as cohort and place, that are dealt, and `closed`
        the numbers of those that are closed.
        """
        driver = cls(policy, law, k, aim, seed, control)
        entries = [tuple(entry) if isinstance(entry, list | tuple) else (entry,) for entry in log]
        for i, entry in enumerate(entries):
            if i == len(driver.log):
                driver._follow(i, entry)
            if driver.log[i] != entry:
                raise InvalidValue(f"entry {i} of the log", entry, f"{driver.log[i]}, which this study did")
        if len(driver.log) > len(entries):
            raise InvalidValue("the length of the log", len(entries), "longer: it ends inside a deck")
        for cohort, place in dealt:
            places = driver.deck.cohort(cohort)
            places.take(place)
            driver.deck.sort(places)
        for cohort in closed:
            driver.close(cohort)
        return driver

    def _follow(self, i: int, entry: tuple[Any, ...]) -> None:
        """Do again what entry i of a log says."""
        if entry[:1] == ("ask",) and self._due():
            self._ask()
        elif entry[:1] == ("stage",) and len(entry) > 2:
            self.begin_stage(entry[2:], entry[1])
        elif entry[:1] == ("tell",) and len(entry) == 4:
            try:
                places = self.deck.cohort(entry[1])
                if places.complete:  # else `tell` says why not
                    places.closed = True
                    places.all_dealt(True)
                    self.deck.sort(places)
                self.tell(*entry[1:])
            except ProtocolError as why:
                raise InvalidValue(f"entry {i} of the log", entry, f"one that fits those before it, but {why}") from why
        if i == len(self.log):
            raise InvalidValue(f"entry {i} of the log", entry, "one that is due after those before it")

    def _due(self) -> bool:
        """Whether the policy may say something new."""
        return self._idle is None

    def _ask(self) -> None:
        """Ask until a decision is one that is not dealt together with the next."""
        asked, together = list[Decision](), set[int]()
        with self._or_unchanged():
            while not asked or asked[-1].close == TOGETHER:
                generator = decision_generator(self.seed, self._asked + len(asked))
                decision = self.policy.ask(self.state, self.law, generator)
                how = self.law, self.arms, together, self.deck, self._in_flight
                asked.append(check_decision(self.policy, decision, *how))
                together.add(asked[-1].arm)
        if asked[0].n > 0 and self.control is not None:
            asked = self.control.join(asked, self.law, self._placed, self._given)
        for decision in asked:
            self.log.append(("ask", self._asked, *decision))
            self._asked += 1
            if decision.n == 0:
                self._idle = decision
                continue
            self.deck.add(decision)
            if decision.arm in self.arms:
                self._in_flight += decision.close != 0
                self._placed += decision.n
            else:
                self._given += decision.n

    @contextmanager
    def _or_unchanged(self) -> Iterator[None]:
        """The state of the policy is as it was before, if there is an error."""
        before = deepcopy(self.state)
        try:
            yield
        except BaseException:
            self.state = before
            raise
