"""Policies that minimize regret."""

from maskedbandit.policies.parts.purposes import Purpose

PURPOSE = Purpose(
    heading="policy for regret",
    aim="people",
    serves=True,
    live="contemporaneous_klucb",
    choice="As few of them as possible get a worse arm",
    rank=1,
)
