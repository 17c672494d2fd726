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

-- Whether what was erased may still be in the files: until they were scrubbed.
ALTER TABLE study ADD COLUMN traces BIGINT NOT NULL DEFAULT 0;

-- The latest time that the study has seen, but for reports: when somebody reports is an outcome. As it has another name,
-- a process that runs the code of an older version, and would give places without salts, writes nothing more.
ALTER TABLE study RENAME COLUMN latest TO clock;
