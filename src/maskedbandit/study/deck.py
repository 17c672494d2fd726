"""The deck of a study: the places of its cohorts, which users get in random order.

Who comes next gets an arm with the probability (places of the arm that are left) / (all places that are left), as if
they had been shuffled like cards. So cohorts that are dealt together fill up over the same stretch of time, and each
ends with exactly as many users as it was to have. A cohort goes from

    open -> complete (no places are added) -> full (all are dealt) -> closed -> released

When the arms in play change, a stage ends, and nobody is dealt a place of its cohorts any more. Those that are full are
released as ever. The others are given up: they would never have as many users as they were to have.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from fractions import Fraction

from maskedbandit.core import TOGETHER, Decision
from maskedbandit.errors import OutOfTurn
from maskedbandit.privacy.sampling import Bits
from maskedbandit.value_words import shorten_value


@dataclass
class Places:
    """The places of a cohort, numbered from 0, and how far the cohort has come."""

    cohort: int
    arm: int
    epoch: int = 0  # cohorts of the same one are dealt together
    size: int = 0  # places so far
    complete: bool = False
    closed: bool = False
    ended: bool = False  # with its stage
    release: tuple[int, float] | None = None  # n and total
    left: int = 0  # places to be dealt: who comes is dealt one of all that are left, so it is read most of all
    noted: int = 0  # places that are dealt, as the deck has noted
    _next: int = 0  # all places from here on are left, and
    _returned: set[int] = field(default_factory=set)  # so are these

    def add(self, n: int) -> None:
        """Add places."""
        self.size += n
        self.left += n

    @property
    def full(self) -> bool:
        """Whether its last place was dealt."""
        return self.complete and self.left == 0

    @property
    def given_up(self) -> bool:
        """Whether it will never be full, as its stage has ended."""
        return self.ended and not self.full

    def check_dealt(self, place: int, dealt: bool) -> None:
        """Raise `OutOfTurn` unless it is a place of the cohort, and is dealt or is left."""
        if type(place) is not int or not 0 <= place < self.size:
            raise OutOfTurn(
                f"cohort {self.cohort} has no place {shorten_value(place)}: its places are 0 to {self.size - 1}"
            )
        if dealt != (place < self._next and place not in self._returned):
            raise OutOfTurn(f"place {place} of cohort {self.cohort} is {'not' if dealt else 'already'} dealt")

    def deal(self) -> int:
        """Deal the first place that is left."""
        if self._returned:
            place = min(self._returned)
            self._returned.remove(place)
        else:
            place = self._next
            self._next += 1
        self.left -= 1
        return place

    def take(self, place: int) -> None:
        """Deal this place, as it was dealt before."""
        self.check_dealt(place, dealt=False)
        self._returned |= set(range(self._next, place + 1))
        self._next = max(self._next, place + 1)
        self._returned.remove(place)
        self.left -= 1

    def give_back(self, place: int) -> None:
        """Leave a place to be dealt again."""
        self.check_dealt(place, dealt=True)
        self._returned.add(place)
        self.left += 1

    def all_dealt(self, dealt: bool) -> None:
        """Deal all places, or leave all to be dealt again."""
        self._next, self.left = (self.size, 0) if dealt else (0, self.size)
        self._returned.clear()


class CohortDeck:
    """All cohorts of a study, by number, and those of them that have places left.

    >>> deck, bits = CohortDeck(), Bits()
    >>> deck.add(Decision(arm=1, n=3, close=TOGETHER))
    >>> deck.add(Decision(arm=0, n=1, close=1))
    >>> deck.deal(bits, full=[0])[0].arm, sorted(deck.deal(bits)[0].arm for user in range(3)), deck.left, deck.dealt
    (0, [1, 1, 1], 0, 4)
    """

    def __init__(self) -> None:
        self.cohorts: list[Places] = []
        self.dealt = 0  # places, in all cohorts
        self.begun: list[int] = []  # of each later stage the number of its first cohort
        self._epoch = 0  # decisions that are not dealt with the next
        self._growing: dict[int, Places] = {}  # by arm: those to which places may be added
        self._left: dict[int, int] = {}  # places that are left, of cohorts that have any, in the order of their numbers
        self._unreleased: dict[int, Places] = {}

    @property
    def left(self) -> int:
        """Places that are left to be dealt."""
        return sum(self._left.values())

    @property
    def empty(self) -> bool:
        """Whether no place is left."""
        return not self._left

    @property
    def dealing(self) -> list[Places]:
        """The cohorts that have places left, by number."""
        return [self.cohorts[number] for number in self._left]

    def unreleased(self) -> list[Places]:
        """The cohorts that were not released yet and may be, by number."""
        return [places for places in self._unreleased.values() if not places.given_up]

    @property
    def unreleased_dealt(self) -> dict[int, int]:
        """How many places of each cohort are dealt that was not released, be it that it never will be."""
        return {number: places.size - places.left for number, places in self._unreleased.items()}

    def cohort(self, number: int) -> Places:
        """The places of a cohort, or raise `OutOfTurn`."""
        if type(number) is not int or not 0 <= number < len(self.cohorts):
            raise OutOfTurn(
                f"cohort {shorten_value(number)} is unknown: there are {len(self.cohorts)} so far, numbered from 0"
            )
        return self.cohorts[number]

    def growing(self, arm: int) -> bool:
        """Whether the arm has a cohort to which places may be added."""
        return arm in self._growing

    def add(self, decision: Decision) -> None:
        """Add the places of a decision that is legal to the arm's cohort, which may be a new one."""
        arm, n, close = decision
        places = self._growing.pop(arm, None)
        if places is None:
            places = Places(len(self.cohorts), arm, self._epoch)
            self.cohorts.append(places)
            self._unreleased[places.cohort] = places
        places.add(n)
        places.complete = close in (1, TOGETHER)
        if not places.complete:
            self._growing[arm] = places
        self._epoch += close != TOGETHER
        self.sort(places)

    def release(self, places: Places, n: int, total: float) -> None:
        """Note the release of a cohort."""
        places.release = n, total
        del self._unreleased[places.cohort]

    def end_stage(self) -> None:
        """Deal no place that is left, nor one that will be given back."""
        for places in self._unreleased.values():
            places.ended = True
        self.begun.append(len(self.cohorts))
        self._left.clear()
        self._growing.clear()

    def sort(self, places: Places) -> None:
        """Note how many places of the cohort are dealt, and how many are left to be, after they changed."""
        left, number, dealt = places.left, places.cohort, places.size - places.left
        self.dealt += dealt - places.noted
        places.noted = dealt
        if not left or places.ended:
            self._left.pop(number, None)
        elif number in self._left or number > next(reversed(self._left), -1):
            self._left[number] = left
        else:
            self._left = dict(sorted([*self._left.items(), (number, left)]))

    def deal(self, bits: Bits, full: Collection[int] = ()) -> tuple[Places, int, Fraction] | None:
        """Deal one of the places that are left: its cohort, its number, and the propensity of its arm.

        The propensity is exactly the probability with which the user got this arm: places of the arm / all places. No
        place is dealt of cohorts that are `full` for the user, so there may be none.
        """
        cohorts, of_user = self.cohorts, self._left
        if full:
            of_user = {number: left for number, left in self._left.items() if number not in full}
            if not of_user:
                return None
        rest = bits.below(sum(of_user.values())) if len(of_user) > 1 else 0
        for number, left in of_user.items():
            chosen = cohorts[number]
            if rest < left:
                break
            rest -= left
        total = sum(of_user.values())
        of_arm = sum([left for number, left in of_user.items() if cohorts[number].arm == chosen.arm])
        place = chosen.deal()
        self.sort(chosen)
        return chosen, place, Fraction(of_arm, total)
