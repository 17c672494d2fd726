-- Who may ask the service for what, and which requests that make something came before.

CREATE TABLE api_key (
  key TEXT PRIMARY KEY,           -- its public part
  role TEXT NOT NULL CHECK (role IN ('owner', 'officer', 'client')),
  study TEXT,                     -- the only one that it is for; null: all
  hash TEXT NOT NULL,             -- of its secret part
  made BIGINT NOT NULL,
  ends BIGINT                     -- when it was, or will be, revoked
);

CREATE TABLE made_once (
  request TEXT PRIMARY KEY,       -- a hash of who asked and of the Idempotency-Key
  body TEXT NOT NULL,             -- the hash of what was asked
  made BIGINT NOT NULL
);
-- arrivals over time
CREATE INDEX arrivals ON place (study, assigned);
-- with all that is asked of them: otherwise SQLite goes through all arrivals to find the few that nobody saw
DROP INDEX unseen;
CREATE INDEX unseen ON place (study, assigned, cohort, place, ticket) WHERE exposed IS NULL AND returned IS NULL;
