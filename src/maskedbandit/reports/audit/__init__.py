"""Audits: whether a study, a policy or a service keeps what it states."""
