"""All releases as a table for spreadsheets and data frames: one row a release, in ASCII.

Each further outcome, a guardrail or a metric, has a column of its own. No cell begins a formula: names begin with a
letter or a digit, and all else is a number, a time or a loss.
"""

import csv
from datetime import UTC, datetime
from io import StringIO

from maskedbandit.service.views.answers import Releases

COLUMNS = ("cohort", "arm", "n", "total", "mean", "loss", "at", "entry")
GREEK = str.maketrans({"ε": "epsilon", "δ": "delta", "ρ": "rho"})  # spreadsheets guess how letters are written


def write_csv(found: Releases) -> str:
    """The rows of these releases, below the names of the columns.

    >>> from maskedbandit.service.views.answers import Released
    >>> release = Released(0, "plain", 40, 9.5, 0.2375, "ε = 1", 0, 3, {"harm": 2.0})
    >>> print(write_csv(Releases("example", False, [release])), end="")
    cohort,arm,n,total,mean,loss,at,entry,total of harm
    0,plain,40,9.5,0.2375,epsilon = 1,1970-01-01T00:00:00+00:00,3,2.0
    """
    text = StringIO()
    rows = csv.writer(text, lineterminator="\n")
    names = list(found.releases[0].further) if found.releases else []
    rows.writerow((*COLUMNS, *(f"total of {name}" for name in names)))
    for each in found.releases:
        at = datetime.fromtimestamp(each.at / 1000, UTC).isoformat()
        loss = each.loss.translate(GREEK)
        further = (each.further[name] for name in names)
        rows.writerow((each.cohort, each.arm, each.n, each.total, each.mean, loss, at, each.entry, *further))
    return text.getvalue()
