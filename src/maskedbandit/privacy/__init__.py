"""What privacy costs, and where its randomness comes from: losses, ledgers, exact samplers, counting queries."""
