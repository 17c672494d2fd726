"""What a study would cost under each trust model."""
