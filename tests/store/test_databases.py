"""Both databases are real, and keep the same rules."""

from maskedbandit.store.connection import connect


def test_both_databases_can_be_reached(address: str) -> None:
    database = connect(address)
    assert database.tables() >= {"study", "place", "release"}
    database.close()
