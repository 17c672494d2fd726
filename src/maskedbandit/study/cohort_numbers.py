"""The numbers under which others know cohorts: sites, devices that have their reports mixed, and the shuffler.

A cohort that is discarded is dealt again, to other people. Others, who take part in each of theirs once, know it under
another number then.
"""

COHORTS = 2**32  # of a study


def number_cohort(cohort: int, again: int) -> int:
    """The number under which others know a cohort that was dealt again so often.

    >>> number_cohort(3, 0), find_cohort(number_cohort(3, 2)), count_again(number_cohort(3, 2))
    (3, 3, 2)
    """
    return cohort + COHORTS * again


def find_cohort(number: int) -> int:
    """The number of the cohort in its study."""
    return number % COHORTS


def count_again(number: int) -> int:
    """How often the cohort was dealt again."""
    return number // COHORTS


def say_cohort(number: int) -> str:
    """A cohort with such a number, for people."""
    again = count_again(number)
    return f"Cohort {find_cohort(number)}" + (f", dealt again {again}×" if again else "")
