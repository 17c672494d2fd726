"""The tables of a device's own book."""

BOOK_SETTINGS = "PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL;"
BOOK_TABLES = """
CREATE TABLE IF NOT EXISTS consent (id INTEGER PRIMARY KEY CHECK (id = 0), since INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS own_place (
    study TEXT PRIMARY KEY, protocol TEXT NOT NULL UNIQUE, given TEXT NOT NULL, epsilon TEXT NOT NULL,
    joined INTEGER NOT NULL, told INTEGER NOT NULL, steps INTEGER NOT NULL, ended TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS held_outcome (
    study TEXT, metric TEXT, value TEXT NOT NULL, PRIMARY KEY (study, metric)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS kept_report (
    study TEXT, metric TEXT, turn INTEGER, made INTEGER NOT NULL, says INTEGER NOT NULL, size INTEGER NOT NULL,
    answer TEXT NOT NULL, body TEXT, PRIMARY KEY (study, metric, turn)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS own_pass (study TEXT PRIMARY KEY, shown TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS own_round (
    study TEXT, attempt INTEGER, terms TEXT NOT NULL, value TEXT, seed TEXT,
    PRIMARY KEY (study, attempt)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS round_step (
    study TEXT, attempt INTEGER, phase INTEGER, received TEXT NOT NULL, sent TEXT NOT NULL,
    PRIMARY KEY (study, attempt, phase)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS farewell (study TEXT PRIMARY KEY, ticket TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS withdrawal (study TEXT PRIMARY KEY, address TEXT NOT NULL, body TEXT NOT NULL);
"""
