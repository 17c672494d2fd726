-- Studies, their decisions, places and releases. Both databases read these files: times are milliseconds since 1970,
-- hashes and keys are lower-case hexadecimal, exact numbers are text.

CREATE TABLE loss (
  loss BIGINT PRIMARY KEY,  -- the first 63 bits of the hash of its text
  text TEXT NOT NULL
);

CREATE TABLE project (
  project TEXT PRIMARY KEY,
  budget BIGINT NOT NULL REFERENCES loss,  -- of each person in a period
  period BIGINT,                           -- milliseconds; null: for ever
  burned BIGINT REFERENCES loss            -- what everybody is taken to have spent, since a gap in the ledger was burned
);

CREATE TABLE study (
  study TEXT PRIMARY KEY,
  project TEXT NOT NULL REFERENCES project,
  state TEXT NOT NULL CHECK (state IN ('draft', 'running', 'paused', 'stopped', 'archived')),
  protocol TEXT NOT NULL,
  seed TEXT NOT NULL,             -- of the decisions
  people BIGINT NOT NULL CHECK (people >= 0),   -- who have a place
  clock BIGINT NOT NULL,          -- the latest time that the study has seen
  fence BIGINT NOT NULL,          -- who writes holds the largest
  holder TEXT NOT NULL,
  lease BIGINT NOT NULL           -- until when nobody else may take it over
);

CREATE TABLE decision (
  study TEXT NOT NULL REFERENCES study,
  number BIGINT NOT NULL,
  step BIGINT NOT NULL,           -- the place in the log of asks and tells
  arm BIGINT NOT NULL,
  n BIGINT NOT NULL,
  close BIGINT NOT NULL,
  PRIMARY KEY (study, number)
);

CREATE TABLE place (
  study TEXT NOT NULL REFERENCES study,
  ticket TEXT NOT NULL,
  cohort BIGINT NOT NULL,
  place BIGINT NOT NULL,
  arm BIGINT NOT NULL,
  person TEXT,                    -- a keyed hash; null once erased
  propensity TEXT NOT NULL,       -- a fraction
  loss BIGINT NOT NULL REFERENCES loss,   -- what the person was charged
  period BIGINT NOT NULL,
  assigned BIGINT NOT NULL,
  exposed BIGINT,
  returned BIGINT,                -- when it went back to be dealt to another
  PRIMARY KEY (study, ticket)
);
CREATE UNIQUE INDEX each_place_is_dealt_once ON place (study, cohort, place) WHERE returned IS NULL;
CREATE UNIQUE INDEX each_person_has_one_place ON place (study, person) WHERE returned IS NULL;

CREATE TABLE reward (
  study TEXT NOT NULL,
  ticket TEXT NOT NULL,
  event TEXT NOT NULL,            -- which of the person's reports; a retry has the same
  value DOUBLE PRECISION NOT NULL,
  received BIGINT NOT NULL,
  position BIGINT NOT NULL,       -- of the ticket's reports, in the order in which they came
  PRIMARY KEY (study, ticket, event),
  FOREIGN KEY (study, ticket) REFERENCES place
);

CREATE TABLE release (
  study TEXT NOT NULL REFERENCES study,
  cohort BIGINT NOT NULL,
  step BIGINT NOT NULL,           -- the place in the log of asks and tells
  arm BIGINT NOT NULL,
  n BIGINT NOT NULL,
  total DOUBLE PRECISION NOT NULL,
  loss BIGINT NOT NULL REFERENCES loss,
  members TEXT NOT NULL,          -- the digest of who was in the cohort, and with which rewards
  memory TEXT NOT NULL,           -- what the channel keeps for its next release
  PRIMARY KEY (study, cohort)
);

CREATE TABLE account (
  project TEXT NOT NULL REFERENCES project,
  person TEXT NOT NULL,
  period BIGINT NOT NULL,
  first BIGINT NOT NULL REFERENCES loss,
  spent BIGINT NOT NULL REFERENCES loss,
  PRIMARY KEY (project, person, period)
);

CREATE TABLE entry (
  study TEXT NOT NULL REFERENCES study,
  number BIGINT NOT NULL,
  body TEXT NOT NULL,             -- JSON
  hash TEXT NOT NULL,             -- of the hash before it and the body
  signature TEXT NOT NULL,
  PRIMARY KEY (study, number)
);

CREATE TABLE identity (
  name TEXT NOT NULL              -- of the database; a copy has the same
);
