"""Policies that minimize regret."""

from maskedbandit.policies.parts.purposes import Purpose

PURPOSE = Purpose(
    heading="policy for regret",
    aim="people",
    serves=True,
    live="contemporaneous_klucb",
    choice="As few of them as possible get a worse arm",
    meaning=(
        "The better an arm looks, the more people get it; days may differ. It may never be certain which arm is best, "
        "as few people get the others."
    ),
    rank=1,
)
