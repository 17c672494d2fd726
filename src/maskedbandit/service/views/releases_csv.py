"""All releases as a table for spreadsheets and data frames: one row a release, in ASCII.

No cell begins a formula: names of arms begin with a letter or a digit, and all else is a number, a time or a loss.
"""

import csv
from datetime import UTC, datetime
from io import StringIO

from maskedbandit.service.views.answers import Releases

COLUMNS = ("cohort", "arm", "n", "total", "mean", "guardrail", "loss", "at", "entry")
GREEK = str.maketrans({"ε": "epsilon", "δ": "delta", "ρ": "rho"})  # spreadsheets guess how letters are written


def write_csv(found: Releases) -> str:
    """The rows of these releases, below the names of the columns.

    >>> from maskedbandit.service.views.answers import Released
    >>> print(write_csv(Releases("example", False, [Released(0, "plain", 40, 9.5, 0.2375, "ε = 1", 0, 3)])), end="")
    cohort,arm,n,total,mean,guardrail,loss,at,entry
    0,plain,40,9.5,0.2375,,epsilon = 1,1970-01-01T00:00:00+00:00,3
    """
    text = StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for each in found.releases:
        at = datetime.fromtimestamp(each.at / 1000, UTC).isoformat()
        loss = each.loss.translate(GREEK)
        rows.writerow((each.cohort, each.arm, each.n, each.total, each.mean, each.guardrail, loss, at, each.entry))
    return text.getvalue()
