"""Rehearsals: a study over a real protocol, with all its parties in one process."""
