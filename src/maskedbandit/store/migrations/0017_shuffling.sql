-- The shuffler of a study: the bundles of a cohort until they are mixed, and what was mixed, without its senders.

CREATE TABLE bundle (
  study TEXT NOT NULL REFERENCES study,
  cohort BIGINT NOT NULL,
  place BIGINT NOT NULL,
  n BIGINT NOT NULL,              -- places of the cohort
  item TEXT NOT NULL,             -- a hash of the ticket, and that of the envelope
  messages TEXT NOT NULL,         -- encrypted for the study's service, in hexadecimal
  PRIMARY KEY (study, cohort, place)
);

CREATE TABLE mixed (
  study TEXT NOT NULL REFERENCES study,
  cohort BIGINT NOT NULL,
  number BIGINT NOT NULL,         -- in the random order
  message TEXT NOT NULL,          -- in hexadecimal
  PRIMARY KEY (study, cohort, number)
);
