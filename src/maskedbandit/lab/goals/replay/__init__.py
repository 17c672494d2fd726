"""What a policy would have earned, from the log of another one."""
