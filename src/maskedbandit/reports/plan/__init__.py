"""Plans: the cost of a study under each trust model."""
