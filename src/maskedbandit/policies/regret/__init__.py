"""Policies that minimize regret."""
