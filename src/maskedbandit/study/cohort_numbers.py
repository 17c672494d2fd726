"""The numbers under which others know cohorts: sites, devices that have their reports mixed, and the shuffler.

A cohort that is discarded, or lost with a copy of the database, is dealt again, to other people. Others, who take part
in each of theirs once, know it under another number then, that of another turn.
"""

COHORTS = 2**32  # of a study


def number_cohort(cohort: int, turn: int) -> int:
    """The number under which others know a cohort that is dealt in this turn.

    >>> number_cohort(3, 0), find_cohort(number_cohort(3, 2)), say_cohort(number_cohort(3, 2))
    (3, 3, 'Cohort 3, dealt again in turn 2')
    """
    return cohort + COHORTS * turn


def find_cohort(number: int) -> int:
    """The number of the cohort in its study."""
    return number % COHORTS


def say_cohort(number: int) -> str:
    """A cohort with such a number, for people."""
    turn = number // COHORTS
    return f"Cohort {find_cohort(number)}" + (f", dealt again in turn {turn}" if turn else "")
