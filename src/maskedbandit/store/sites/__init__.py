"""A site's part of a study: its own people, their outcomes, which stay here, and the rounds that it joins."""
