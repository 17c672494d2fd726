"""All that a lying server can tell devices on a small ring, as a linear program in whole numbers.

Devices are positions on the ring. The server tells each whom it sees (POST), gives out lists of survivors, and lets
devices sign one of them and answer. The program asks whether some lie opens a sum of fewer honest values than every
list names: a set A of users whose own masks are known, such that each of their masks of pairs either meets its partner
in A or is known, because the key for masks of the other user is.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from maskedbandit.secagg.graph import ring_window


class Lie(NamedTuple):
    """What the server says, by position; and whose sum it opens."""

    opened: set[int]
    sees: dict[int, set[int]]
    stories: list[set[int]]
    signed: dict[int, int]  # which story a device signs
    answers: set[int]  # who sends key shares


class Program:
    """Variables that are 0 or 1, named as they come, and bounds on sums of them."""

    def __init__(self) -> None:
        self.names: dict[tuple, int] = {}
        self.rows: list[tuple[float, float]] = []
        self.entries: list[tuple[int, int, int]] = []

    def between(self, least: float, most: float, *terms: tuple[int, tuple]) -> None:
        for factor, name in terms:
            self.entries.append((factor, len(self.rows), self.names.setdefault(name, len(self.names))))
        self.rows.append((least, most))

    def at_least(self, least: int, *terms) -> None:
        self.between(least, np.inf, *terms)

    def implies(self, *names: tuple) -> None:
        """If all but the last are 1, so is the last."""
        self.at_least(2 - len(names), *((-1, name) for name in names[:-1]), (1, names[-1]))

    def never(self, *names: tuple) -> None:
        """Not all are 1."""
        self.between(-np.inf, len(names) - 1, *((1, name) for name in names))

    def solve(self) -> dict[tuple, bool] | None:
        """Some solution; None if there is none."""
        factors, rows, columns = zip(*self.entries, strict=True)
        matrix = coo_array((factors, (rows, columns)), shape=(len(self.rows), len(self.names))).tocsr()
        least, most = zip(*self.rows, strict=True)
        size = len(self.names)
        limits = LinearConstraint(matrix, least, most)
        found = milp(np.zeros(size), constraints=limits, integrality=np.ones(size), bounds=Bounds(0, 1))
        assert found.status in (0, 2), found.message
        return None if found.x is None else {name: found.x[at] > 0.5 for name, at in self.names.items()}


def split(n: int, k: int, t: int, corrupted=(), votes: bool = True, neighbours: bool = True) -> Lie | None:
    """A lie with two lists of survivors that splits the sum, or None: there is none.

    `votes` and `neighbours` say which checks devices make: of votes of neighbours, of how many neighbours survived.
    """
    program, stories = Program(), range(2)
    near = [ring_window(u, n, k) for u in range(n)]
    bad = [sum(w in corrupted for w in near[u]) for u in range(n)]
    honest = [u for u in range(n) if u not in corrupted]
    for s in stories:
        program.at_least(1, *((1, ("in", s, u)) for u in honest), *((-1, ("opened", u)) for u in honest))
    if not corrupted:  # all positions are alike: the opened set ends somewhere
        program.at_least(1, (1, ("opened", 0)))
        program.never(("opened", 1))
    program.at_least(1, *((1, ("opened", u)) for u in honest))
    for u in honest:
        others = [w for w in near[u] if w not in corrupted]
        program.between(0, 1, *((1, ("signs", s, u)) for s in stories))
        program.at_least(t, *((1, ("sees", u, w)) for w in near[u]))
        for s in stories:
            program.implies(("signs", s, u), ("in", s, u))
            program.implies(("answers", s, u), ("signs", s, u))
            for w in near[u]:
                program.implies(("signs", s, u), ("in", s, w), ("sees", u, w))
            if votes:
                program.at_least(-bad[u], *((1, ("signs", s, w)) for w in others), (-t, ("answers", s, u)))
            if neighbours:
                program.at_least(0, *((1, ("in", s, w)) for w in near[u]), (-t, ("signs", s, u)))
            for w in others:  # w gives a key share of one secret of u
                program.implies(("own of", u, w, s), ("answers", s, w))
                program.implies(("own of", u, w, s), ("in", s, u))
                program.implies(("key of", u, w, s), ("answers", s, w))
                program.implies(("key of", u, w, s), ("sees", w, u))
                program.never(("key of", u, w, s), ("in", s, u))
        given = [(w, s) for w in others for s in stories]
        program.at_least(-bad[u], *((1, ("own of", u, *each)) for each in given), (-t, ("opened", u)))
        program.at_least(-bad[u], *((1, ("key of", u, *each)) for each in given), (-t, ("known", u)))
        for w in others:
            program.at_least(-1, (-1, ("opened", u)), (-1, ("sees", u, w)), (1, ("known", w)), (1, ("opened", w)))
            program.at_least(
                -2,
                (-1, ("opened", u)),
                (-1, ("opened", w)),
                (-1, ("sees", u, w)),
                (1, ("known", w)),
                (1, ("sees", w, u)),
            )
    found = program.solve()
    if found is None:
        return None
    return Lie(
        {u for u in honest if found["opened", u]},
        {u: {w for w in near[u] if found["sees", u, w]} for u in honest},
        [{u for u in range(n) if found.get(("in", s, u))} for s in stories],
        {u: s for u in honest for s in stories if found["signs", s, u]},
        {u for u in honest for s in stories if found["answers", s, u]},
    )
