"""Name the best arm with a fixed number of people."""
