"""Reports on studies: plans, forecasts, estimates, audits and privacy statements."""
