"""Counting queries under the Laplace mechanism: how many people, questions, ε or how much accuracy it takes."""

import argparse

from maskedbandit.errors import InvalidValue

EXAMPLE = (
    "maskedbandit queries --queries 10 --epsilon 1 --accuracy 0.05        # how many people does it take?\n"
    "  maskedbandit queries --people 10000 --epsilon 1 --accuracy 0.05      # how many questions can they answer?\n"
    "  maskedbandit queries --people 10000 --queries 10 --accuracy 0.05     # at which ε?\n"
    "  maskedbandit queries --people 10000 --queries 10 --epsilon 1         # how exactly?"
)
ASKED = ("people", "queries", "epsilon", "accuracy")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options: three of four numbers, and a probability."""
    parser.add_argument("--people", type=int, metavar="N", help="the number of people in the data set")
    parser.add_argument(
        "--queries",
        type=int,
        metavar="K",
        help="the number of questions: which fraction of the people is such and such?",
    )
    parser.add_argument("--epsilon", metavar="E", help="what all answers together cost each person")
    parser.add_argument("--accuracy", metavar="A", help="all answers are closer than this to the true fractions")
    parser.add_argument("--beta", default="0.05", metavar="P", help="the probability that one of them is not (0.05)")


def do(options: argparse.Namespace) -> None:
    """Find the number that was left out."""
    from maskedbandit.privacy.counting import LaplaceMechanism, queries_affordable, users_needed

    people, queries, epsilon, accuracy, beta = (getattr(options, name) for name in (*ASKED, "beta"))
    missing = [f"--{name}" for name in ASKED if getattr(options, name) is None]
    if len(missing) != 1:
        raise InvalidValue("what is left out", ", ".join(missing) or "nothing", "one of --" + ", --".join(ASKED))
    if people is None:
        people = users_needed(epsilon, accuracy, beta, queries)
    if queries is None and not (queries := queries_affordable(people, epsilon, accuracy, beta)):
        raise InvalidValue("--people", people, f"more: not even one query is that accurate at ε = {epsilon}")
    if epsilon is None:
        mechanism = LaplaceMechanism.for_accuracy(accuracy, beta, people, queries)
    else:
        mechanism = LaplaceMechanism.for_epsilon(epsilon, people, queries)
    if accuracy is None:
        accuracy = mechanism.accuracy(beta, people, queries)
    cost, chance = mechanism.epsilon(people, queries), mechanism.failure(accuracy, people, queries)
    print(f"{queries:,} counting queries on {people:,} people cost each of them ε = {float(cost):.4g} in all.")
    scale = f"{float(mechanism.sigma):.4g}"
    print(f"Noise of scale {scale} is added to each fraction: a discrete Laplace number to the count.")
    print(f"All errors are below {float(accuracy):.4g}, except with probability {chance:.2g}.")
