"""Shuffling: what many devices send reaches the analyzer without senders."""
