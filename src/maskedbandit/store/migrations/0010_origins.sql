-- Keys of devices, which are published: each says from the pages of which sites it may be used.

ALTER TABLE api_key RENAME TO older_key;
CREATE TABLE api_key (
  key TEXT PRIMARY KEY,           -- its public part
  role TEXT NOT NULL CHECK (role IN ('owner', 'officer', 'client', 'device')),
  study TEXT,                     -- the only one that it is for; null: all
  hash TEXT NOT NULL,             -- of its secret part
  made BIGINT NOT NULL,
  ends BIGINT,                    -- when it was, or will be, revoked
  origins TEXT,                   -- of a device key, with a space between them; null: it is of another role
  CHECK ((role = 'device') = (origins IS NOT NULL)),
  CHECK (role <> 'device' OR study IS NOT NULL)
);
INSERT INTO api_key (key, role, study, hash, made, ends) SELECT key, role, study, hash, made, ends FROM older_key;
DROP TABLE older_key;
