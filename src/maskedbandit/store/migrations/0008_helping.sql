-- Two servers on the wire: with whom an operator works, and what the helper was offered of the reports of a study.

CREATE TABLE pairing (
  fingerprint TEXT PRIMARY KEY,   -- of the other operator's keys
  role TEXT NOT NULL CHECK (role IN ('leader', 'helper')),   -- of the other operator
  name TEXT NOT NULL,
  address TEXT NOT NULL,          -- where the helper is reached; a leader has none
  seals TEXT NOT NULL,            -- its public keys
  signs TEXT NOT NULL,
  credential TEXT NOT NULL,       -- the leader sends it; the helper has its hash
  made BIGINT NOT NULL
);

-- whoever has the text of an invitation may pair with the helper, once
CREATE TABLE invitation (
  invitation TEXT PRIMARY KEY,    -- the hash of its text
  ends BIGINT NOT NULL            -- when it holds no more
);

CREATE TABLE helped_report (
  study TEXT NOT NULL REFERENCES study,
  report TEXT NOT NULL,           -- its name
  cohort BIGINT NOT NULL,
  n BIGINT NOT NULL,              -- places of the cohort
  place BIGINT NOT NULL,
  turn BIGINT NOT NULL,
  item TEXT NOT NULL,             -- the hash of all that the leader offered of it
  accepted BIGINT NOT NULL CHECK (accepted IN (0, 1)),
  verifier TEXT NOT NULL,         -- what the helper's share shows of the proof; empty if it could not be read
  locked TEXT,                    -- the helper's share of the value, encrypted; null from the total of the cohort on
  PRIMARY KEY (study, report)
);
CREATE UNIQUE INDEX each_place_has_one_report ON helped_report (study, cohort, place);
-- in postgresql: ALTER TABLE helped_report ALTER COLUMN locked SET STATISTICS 0;
-- in postgresql: ALTER TABLE helped_report ALTER COLUMN verifier SET STATISTICS 0;
