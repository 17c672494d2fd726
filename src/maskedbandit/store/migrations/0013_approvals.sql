-- Which officers of privacy approved which protocols of a draft. The start says in the ledger on whose approval it rests.

CREATE TABLE approval (
  study TEXT NOT NULL REFERENCES study,
  protocol TEXT NOT NULL,         -- its hash
  key TEXT NOT NULL,              -- the public part of the officer's key
  at BIGINT NOT NULL,
  PRIMARY KEY (study, protocol, key)
);
