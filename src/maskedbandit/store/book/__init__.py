"""The ledger of a study: entries, what follows from them, and the checks."""
