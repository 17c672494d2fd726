"""What can be achieved: divergences, lower bounds and guarantees, as numbers."""
