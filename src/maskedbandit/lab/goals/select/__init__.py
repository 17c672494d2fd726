"""Name all arms of a kind, and stop."""
