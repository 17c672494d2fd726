-- What was counted of the places of a study that change no more: a start need not count them again.

CREATE TABLE tally (
  study TEXT PRIMARY KEY REFERENCES study,
  settled TEXT NOT NULL           -- JSON
);
