"""What policies have in common: schedules, tests, models. Nothing here is a policy that one can run."""
