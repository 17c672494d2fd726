-- What devices upload for two operators: the newest report of each place, sealed. Nothing in it can be read by this
-- operator alone, and what is left of it after the release are the names of the reports that are in the sum.

CREATE TABLE upload (
  study TEXT NOT NULL,
  ticket TEXT NOT NULL,
  report TEXT NOT NULL,           -- its name: random
  turn BIGINT NOT NULL,           -- how many reports of this place its device had sent before
  leader TEXT,                    -- the share that is sealed for this operator; null once it was released
  helper TEXT,                    -- the share that is sealed for the other one; likewise
  received BIGINT NOT NULL,
  PRIMARY KEY (study, ticket),
  FOREIGN KEY (study, ticket) REFERENCES place
);
-- in postgresql: ALTER TABLE upload ALTER COLUMN report SET STATISTICS 0;
-- in postgresql: ALTER TABLE upload ALTER COLUMN leader SET STATISTICS 0;
-- in postgresql: ALTER TABLE upload ALTER COLUMN helper SET STATISTICS 0;
-- in postgresql: ALTER TABLE upload ALTER COLUMN received SET STATISTICS 0;

-- Which reports are in the sum of a cohort, from when the other operator is asked for its total until the release:
-- should somebody's data be erased meanwhile, that total still fits.
CREATE TABLE listed (
  study TEXT NOT NULL REFERENCES study,
  cohort BIGINT NOT NULL,
  reports BIGINT NOT NULL,        -- how many
  left_out TEXT NOT NULL,         -- the places that have none among them, as JSON
  digest TEXT NOT NULL,           -- of their names, by place
  total TEXT NOT NULL,            -- this operator's share of the sum: a uniform number, alone
  PRIMARY KEY (study, cohort)
);
