"""Privacy losses, ledgers, exact samplers and counting queries."""
