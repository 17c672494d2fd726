"""Shuffling: the analyzer receives the messages of many devices without their senders."""
