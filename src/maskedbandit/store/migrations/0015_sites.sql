-- Sites that keep the outcomes of their own people: whose person each is, and the rounds in which they add up.

ALTER TABLE pairing RENAME TO older_pairing;
CREATE TABLE pairing (
  fingerprint TEXT PRIMARY KEY,   -- of the other one's keys
  role TEXT NOT NULL CHECK (role IN ('leader', 'helper', 'site', 'coordinator')),   -- of the other one
  name TEXT NOT NULL,
  address TEXT NOT NULL,          -- where a helper or a coordinator is reached; others have none
  seals TEXT NOT NULL,            -- its public keys
  signs TEXT NOT NULL,
  credential TEXT NOT NULL,       -- whoever asks sends it; the other one has its hash
  made BIGINT NOT NULL
);
INSERT INTO pairing (fingerprint, role, name, address, seals, signs, credential, made)
  SELECT fingerprint, role, name, address, seals, signs, credential, made FROM older_pairing;
DROP TABLE older_pairing;

ALTER TABLE place ADD COLUMN site BIGINT;  -- the number of the person's site in the protocol; null: there are no sites

-- the round of a cohort that is under way: all of it follows from this row and from what the sites sent
CREATE TABLE round (
  study TEXT NOT NULL REFERENCES study,
  cohort BIGINT NOT NULL,
  attempt BIGINT NOT NULL,        -- counted from 1
  seed TEXT NOT NULL,             -- of the ring, to which the plan commits
  phase BIGINT NOT NULL,          -- counted from 0
  since BIGINT NOT NULL,          -- when the phase began
  PRIMARY KEY (study, cohort)
);

CREATE TABLE round_message (
  study TEXT NOT NULL,
  cohort BIGINT NOT NULL,
  attempt BIGINT NOT NULL,
  phase BIGINT NOT NULL,
  site BIGINT NOT NULL,
  message TEXT NOT NULL,          -- in hexadecimal; empty: the site left the attempt
  PRIMARY KEY (study, cohort, attempt, phase, site)
);

-- at a site: the places of its own people, which the coordinator gave, and the rounds that it takes part in
CREATE TABLE site_place (
  study TEXT NOT NULL REFERENCES study,
  ticket TEXT NOT NULL,
  person TEXT NOT NULL,           -- the name under which the coordinator knows the person, and nobody else
  cohort BIGINT NOT NULL,
  answer TEXT NOT NULL,           -- what the coordinator said of the place, as JSON
  exposed BIGINT,                 -- when the arm was seen
  PRIMARY KEY (study, ticket)
);
CREATE UNIQUE INDEX each_person_has_one_place ON site_place (study, person);
CREATE INDEX places_of_site_by_cohort ON site_place (study, cohort);

CREATE TABLE site_report (
  study TEXT NOT NULL,
  ticket TEXT NOT NULL,
  event TEXT NOT NULL,
  proof TEXT NOT NULL,            -- the hash of the secret of whoever made it; empty if there was none
  value DOUBLE PRECISION NOT NULL,
  position BIGINT NOT NULL,       -- among those of the study
  PRIMARY KEY (study, ticket, event, proof)
);

CREATE TABLE site_round (
  study TEXT NOT NULL REFERENCES study,
  cohort BIGINT NOT NULL,
  attempt BIGINT NOT NULL,
  terms TEXT NOT NULL,            -- what the coordinator said of the round, as JSON
  value TEXT,                     -- the sum of the site with its noise; null: the round is over for the site
  seed TEXT,                      -- from which all of its secrets in the round follow; null likewise
  PRIMARY KEY (study, cohort, attempt)
);

CREATE TABLE site_message (
  study TEXT NOT NULL,
  cohort BIGINT NOT NULL,
  attempt BIGINT NOT NULL,
  phase BIGINT NOT NULL,
  received TEXT NOT NULL,         -- in hexadecimal
  sent TEXT NOT NULL,             -- in hexadecimal; empty: the site left the attempt
  PRIMARY KEY (study, cohort, attempt, phase)
);
