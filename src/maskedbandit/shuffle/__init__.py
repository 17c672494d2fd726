"""Shuffling: the messages of many devices reach the analyzer without their senders."""
