"""Contextual policies: they choose an arm by the context of the user."""
