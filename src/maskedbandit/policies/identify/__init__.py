"""Policies that find the best arm and stop."""
