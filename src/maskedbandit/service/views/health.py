"""Whether places are seen. No outcome is in it: places and their exposures alone.

A wasted place is one that nobody saw in time: it goes to another person, and whoever had it stays charged. Many of them
are an alarm: an application that shows arms and does not say so uses people's budgets up for nothing. What is looked at
are the newest places whose time to be seen is over, so an alarm comes as soon as the first of them are wasted, however
large the study, and ends soon after its cause.
"""

from maskedbandit.store.databases.database import Database

AHEAD = 60_000  # milliseconds, in which clocks may differ
NEWEST_PLACES = 100  # places that are looked at
MANY_WASTED = 25  # of them, wasted: an alarm; where one in ten is, 1 in 80 000 such hundreds has so many
WASTED_WARNING = (
    f"at least {MANY_WASTED} of the newest {NEWEST_PLACES} places of a study were seen by nobody in time: the log "
    "says of which study, and its page says what to do"
)


def count_wasted(database: Database, study: str, until: int) -> int:
    """How many of the newest places that were given before a time, at which theirs to be seen was over, nobody saw."""
    newest = "SELECT exposed FROM place WHERE study = ? AND assigned < ? ORDER BY assigned DESC, cohort, place LIMIT ?"
    find = f"SELECT COUNT(*) FROM ({newest}) AS newest WHERE exposed IS NULL"
    return int(database.rows(find, study, until, NEWEST_PLACES)[0][0])
