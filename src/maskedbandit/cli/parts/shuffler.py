"""A shuffler as the second operator of a demo: devices send to it, and it mixes what they sent."""

from maskedbandit.cli.parts.two_operators import EPSILON, SecondOperator

DELTA = "1/1000000"
SHUFFLER = SecondOperator(
    role="shuffler",
    channel={"name": "shuffled", "epsilon": EPSILON, "delta": DELTA, "honest": "1/2", "backend": "shuffler"},
    statement="mixed",
    delta=DELTA,
)
