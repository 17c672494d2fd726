"""Policies that find the best arm and stop."""

from maskedbandit.policies.parts.purposes import Purpose

PURPOSE = Purpose(heading="policy for the best arm", aim="delta", live="contemporaneous_elimination", rank=2)
