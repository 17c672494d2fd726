-- Where what is published of studies is sent, and how far each receiver has come with each study.

CREATE TABLE webhook (
  webhook TEXT PRIMARY KEY,       -- random
  study TEXT,                     -- the only one that it is for; null: all
  url TEXT NOT NULL,
  kinds TEXT NOT NULL,            -- of what is sent, with a space between them
  salt TEXT NOT NULL,             -- random: what signs follows from it and from a secret of the witness
  made BIGINT NOT NULL
);

CREATE TABLE delivery (
  webhook TEXT NOT NULL REFERENCES webhook,
  study TEXT NOT NULL,
  position BIGINT NOT NULL,       -- entries of the ledger that the receiver has, or need not have
  standing TEXT NOT NULL,         -- what was found to hold of the study, as JSON
  waiting TEXT NOT NULL,          -- what began or ended of that, and was not sent yet, as JSON
  failures BIGINT NOT NULL,       -- in a row
  failing BIGINT,                 -- since when; null: the last try went well, or there was none
  next BIGINT NOT NULL,           -- before which nothing is tried again
  error TEXT NOT NULL,            -- of the last try; empty if it went well
  sent BIGINT,                    -- when the receiver last took something
  lost BIGINT NOT NULL,           -- how much was given up
  PRIMARY KEY (webhook, study)
);
