"""Offline evaluation: what a policy would have earned, from the log of another one."""
