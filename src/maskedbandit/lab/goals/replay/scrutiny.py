"""A test of the probabilities that a log states for the arms it shows.

A log that claims to be uniform and is not, or whose probabilities are wrong, would make every estimate wrong. It is
detected as follows: for each arm a and each number u of the user, the sum of (w 1{a was shown} - 1{a could be shown}) u
over all visits has mean 0, and a variance of about the sum of (w^2 - w) u^2 over the visits that show a. A sum more
than `STRANGE` standard deviations off ends the replay, and so does a probability outside the range that the log states.
"""

import numpy as np

from maskedbandit.errors import BiasedLog
from maskedbandit.lab.logs.log import Chunk, Log

STRANGE = 8.0  # standard deviations: exceeded by chance less than once in 10^10 sums, of which there are hundreds


class Scrutiny:
    """Whether arms were shown with the probabilities that the log states."""

    def __init__(self, log: Log) -> None:
        self.log, (self.starts, self.arms) = log, log.pools()
        self.excess, self.variance = np.zeros((2, log.d, log.k))
        self.visits, self.random, self.next = 0, 0.0, 1

    def add(self, chunk: Chunk) -> None:
        """Add the visits of a chunk."""
        sizes = np.diff(self.starts)
        w, owner = 1 / chunk.propensity, np.repeat(np.arange(sizes.size), sizes)
        for j in range(self.log.d):
            u = chunk.user[:, j]
            shown = np.bincount(chunk.arm, w * u, self.log.k)
            could = np.bincount(self.arms, np.bincount(chunk.pool, u, sizes.size)[owner], self.log.k)
            self.excess[j] += shown - could
            self.variance[j] += np.bincount(chunk.arm, (w * w - w) * u * u, self.log.k)
        self.visits += chunk.arm.size
        self.random += float((w * chunk.click / sizes[chunk.pool]).sum())
        if self.visits >= self.next:
            self.judge()
            self.next = 2 * self.visits

    def judge(self) -> None:
        """Raise `BiasedLog` if a sum is farther off than chance explains.

        Four of the largest weights, 1 / `least`, are added to a deviation, because its estimate uses the visits that
        show the arm, which may be few: if none of 32 expected ones occur, which has probability e^-32, the sum is 8
        deviations off.
        """
        deviations = self.excess / np.sqrt(self.variance + (4 / self.log.least) ** 2)
        j, arm = np.unravel_index(np.abs(deviations).argmax(), deviations.shape)
        if abs(deviations[j, arm]) > STRANGE:
            raise BiasedLog(
                f"article {self.log.articles()[0][arm]} was not shown with the probabilities that the log states: "
                f"after {self.visits:,} visits it is {abs(deviations[j, arm]):.1f} standard deviations off, where "
                f"at most {STRANGE:g} are allowed; a log that is not uniform must state its true `propensity`"
            )
