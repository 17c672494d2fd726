"""Policies that name all arms of a kind: the m best, or those above a threshold."""

from maskedbandit.policies.parts.purposes import Purpose

PURPOSE = Purpose(heading="policy for the m best arms, or all above a threshold", aim="delta", rank=4)
