"""Policies that answer with a fixed number of people."""
