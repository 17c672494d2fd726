"""Policies that find the best arm and stop."""

from maskedbandit.policies.parts.purposes import Purpose

PURPOSE = Purpose(
    heading="policy for the best arm",
    aim="delta",
    live="contemporaneous_elimination",
    choice="People come until it is certain which arm is best",
    meaning=(
        "Arms that are surely worse go out one after another, until one is left; days may differ. How many people that "
        "takes depends on their outcomes, and you choose below how probably the answer may be wrong."
    ),
    rank=2,
)
