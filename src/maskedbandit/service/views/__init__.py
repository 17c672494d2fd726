"""What is shown of a study: released and operational numbers, and nothing else."""
