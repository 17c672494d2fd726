"""Parts that policies share: schedules, tests, models. None of them is a policy."""
