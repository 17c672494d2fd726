"""What a helper or a shuffler has of people, until it is erased."""

from maskedbandit.store.databases.database import Database


def forget_people(database: Database, study: str) -> None:
    """Erase the shares of a helper that are left, and the bundles and messages of a shuffler; within a transaction."""
    database.change("UPDATE helped_report SET locked = NULL WHERE study = ?", study)
    for table in ("bundle", "mixed"):
        database.change(f"DELETE FROM {table} WHERE study = ?", study)
    database.change("UPDATE study SET traces = traces + 1 WHERE study = ?", study)
