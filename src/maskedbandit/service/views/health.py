"""Whether places are seen, and those of all arms equally often. No outcome is in it: places and their exposures alone.

A study is biased if an application shows some arms less often. The arms of the places are dealt at random, so each
should be seen by the same share of those who were given it. The chance of a difference as large as the one that there
is comes from Pearson's chi-squared statistic.

A wasted place is one that nobody saw in time: it goes to another person, and whoever had it stays charged. Many of them
are an alarm: an application that shows arms and does not say so uses people's budgets up for nothing. What is looked at
are the newest places whose time to be seen is over, so an alarm comes as soon as the first of them are wasted, however
large the study, and ends soon after its cause.
"""

from collections.abc import Sequence

from scipy.special import chdtrc

from maskedbandit.store.databases.database import Database

RARE_CHANCE = 0.001  # a chance below which the difference is taken to be real
LEAST_EXPECTED = 5  # people who are expected in each part of the table
NEWEST_PLACES = 100  # places that are looked at
MANY_WASTED = 25  # of them, wasted: an alarm; where one in ten is, 1 in 80 000 such hundreds has so many
WASTED_WARNING = (
    f"at least {MANY_WASTED} of the newest {NEWEST_PLACES} places of a study were seen by nobody in time: the log "
    "says of which study, and its page says what to do"
)


def exposure_chance(seen: Sequence[int], not_seen: Sequence[int]) -> float | None:
    """The chance of a difference at least as large if all arms are seen equally often; None if it is too early to say.

    >>> exposure_chance([90, 90], [10, 10]), round(exposure_chance([90, 60], [10, 40]), 6)
    (1.0, 1e-06)
    """
    arms = [(a, b) for a, b in zip(seen, not_seen, strict=True) if a + b]
    whole = sum(a + b for a, b in arms)
    missed = sum(b for _, b in arms)
    if len(arms) < 2 or min(a + b for a, b in arms) * min(missed, whole - missed) < LEAST_EXPECTED * whole:
        return None
    statistic = 0.0
    for a, b in arms:
        expected = (a + b) * missed / whole
        statistic += (b - expected) ** 2 / expected + (b - expected) ** 2 / (a + b - expected)
    return float(chdtrc(len(arms) - 1, statistic))


def count_wasted(database: Database, study: str, until: int) -> int:
    """How many of the newest places that were given before a time, at which theirs to be seen was over, nobody saw."""
    newest = "SELECT exposed FROM place WHERE study = ? AND assigned < ? ORDER BY assigned DESC, cohort, place LIMIT ?"
    find = f"SELECT COUNT(*) FROM ({newest}) AS newest WHERE exposed IS NULL"
    return int(database.rows(find, study, until, NEWEST_PLACES)[0][0])
