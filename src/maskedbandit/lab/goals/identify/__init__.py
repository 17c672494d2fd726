"""Find the best arm, and stop."""
