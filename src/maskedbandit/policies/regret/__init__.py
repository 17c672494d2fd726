"""Policies that lose as little reward as they can (regret)."""
