"""Audits: tests of whether a study, a policy or a service keeps its privacy promise."""
