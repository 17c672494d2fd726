"""Studies that outlive their process: the database, the ledger in it, and the study that is driven from it."""
