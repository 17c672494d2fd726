"""Policies that answer with a fixed number of people."""

from maskedbandit.policies.parts.purposes import Purpose

PURPOSE = Purpose(
    heading="policy for the best arm with a fixed number of people",
    aim="people",
    phased=True,
    live="pooled_elimination",
    choice="The best arm is named at the end",
    meaning=(
        "All the people come in a few phases, after each of which the arms that look worst go out. The one that is "
        "left is the answer. Nothing is promised if days differ."
    ),
    rank=3,
)
