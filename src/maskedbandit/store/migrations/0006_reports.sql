-- A leaf, which stands for a person in what seals a cohort, has a random salt: whoever knows the ticket, and the name,
-- cannot try which outcome fits it. No export has the salt, and it goes when the person's data is erased. Cohorts that
-- were released before have none, as their seals are in the ledger.

ALTER TABLE place ADD COLUMN salt TEXT;
UPDATE place SET salt = RANDOM_KEY WHERE erased IS NULL AND NOT EXISTS (
  SELECT cohort FROM release WHERE release.study = place.study AND release.cohort = place.cohort
);

-- Reports under one ticket and event are kept apart by who made them, as nobody is told what somebody else reported.
-- The first of them counts.
CREATE TABLE told (
  study TEXT NOT NULL,
  ticket TEXT NOT NULL,
  event TEXT NOT NULL,            -- which of the person's reports
  proof TEXT NOT NULL,            -- a hash of the secret of whoever reported; empty if there was none
  value DOUBLE PRECISION NOT NULL,
  received BIGINT NOT NULL,
  position BIGINT NOT NULL,       -- of the study's reports, in the order in which they came
  PRIMARY KEY (study, ticket, event, proof),
  FOREIGN KEY (study, ticket) REFERENCES place
);
INSERT INTO told (study, ticket, event, proof, value, received, position)
  SELECT study, ticket, event, '', value, received, position FROM reward;
DROP TABLE reward;
ALTER TABLE told RENAME TO reward;
-- of what is secret PostgreSQL takes no samples for its planner, as these stay when the rows are gone
-- in postgresql: ALTER TABLE place ALTER COLUMN salt SET STATISTICS 0;
-- in postgresql: ALTER TABLE reward ALTER COLUMN event SET STATISTICS 0;
-- in postgresql: ALTER TABLE reward ALTER COLUMN proof SET STATISTICS 0;
-- in postgresql: ALTER TABLE reward ALTER COLUMN value SET STATISTICS 0;
-- in postgresql: ALTER TABLE reward ALTER COLUMN received SET STATISTICS 0;
-- in postgresql: ALTER TABLE reward ALTER COLUMN position SET STATISTICS 0;

-- How often somebody's data was erased since the files were scrubbed: what was erased may still be in them.
ALTER TABLE study ADD COLUMN traces BIGINT NOT NULL DEFAULT 0;
UPDATE study SET traces = 1 WHERE EXISTS (SELECT study FROM erased WHERE erased.study = study.study);

-- The latest time that the study has seen, but for reports: when somebody reports is an outcome. As it has a new name,
-- a process that runs the code of an older version, and would give places without salts, writes nothing more.
ALTER TABLE study RENAME COLUMN latest TO reached;
