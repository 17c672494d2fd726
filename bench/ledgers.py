"""What a charge of a `Ledger` costs, of a new person and of one who returns, once the sums of their losses are known.

`python -m bench.ledgers` measures these alone.
"""

from bench.least import least
from bench.report import row
from maskedbandit.privacy.budget import Ledger
from maskedbandit.privacy.loss import Loss

PEOPLE = 2000


def ledgers() -> None:
    """Microseconds a charge."""
    for name, loss in (("pure ε", Loss.pure("0.01")), ("Skellam noise", Loss.skellam(10**6))):
        ledger, numbers = Ledger(Loss.approximate(3, "1e-6")), iter(range(10**9))
        new = least(lambda: [ledger.charge(f"{next(numbers)}", loss) for _ in range(PEOPLE)])  # noqa: B023
        row(f"Ledger.charge, {name}, new people", 1e6 * new / PEOPLE, "µs", 20)
        again = least(lambda: [ledger.charge(f"{each}", loss) for each in range(PEOPLE)])  # noqa: B023
        row(f"Ledger.charge, {name}, people who return", 1e6 * again / PEOPLE, "µs", 20)


if __name__ == "__main__":
    ledgers()
