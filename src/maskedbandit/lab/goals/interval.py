"""A confidence interval for how often something happens, such as a wrong answer."""

LEVEL = 0.99  # of confidence


def binomial_interval(count: int, trials: int, level: float = LEVEL) -> tuple[float, float]:
    """The Clopper-Pearson confidence interval for the probability of an event with `count` occurrences in the trials.

    >>> [round(end, 4) for end in binomial_interval(0, 100)], [round(end, 4) for end in binomial_interval(2, 100)]
    ([0.0, 0.0516], [0.001, 0.0894])
    """
    from scipy.stats import beta  # which takes as long to load as all else that a server needs

    tail = (1 - level) / 2
    low = float(beta.ppf(tail, count, trials - count + 1)) if count > 0 else 0.0
    high = float(beta.ppf(1 - tail, count + 1, trials - count)) if count < trials else 1.0
    return low, high
