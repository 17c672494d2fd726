"""The databases: SQLite and PostgreSQL behind one interface, and the tables."""
