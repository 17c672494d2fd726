"""Contextual policies: they choose an arm by the context of the user."""

from maskedbandit.policies.parts.purposes import Purpose

PURPOSE = Purpose(heading="policy for contexts", aim="people", serves=True, rank=5)
