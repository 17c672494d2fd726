"""Policies that find the best arm and stop."""

from maskedbandit.policies.parts.purposes import Purpose

PURPOSE = Purpose(
    heading="policy for the best arm",
    aim="delta",
    live="contemporaneous_elimination",
    choice="People come until it is certain which arm is best",
    rank=2,
)
