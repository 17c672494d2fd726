-- A person's data can be erased; the release and what it says of its members stay, so the row keeps its own hash.

ALTER TABLE place ADD COLUMN leaf TEXT;
ALTER TABLE place ADD COLUMN erased BIGINT;
-- the places that wait to be seen, oldest first
CREATE INDEX unseen ON place (study, assigned) WHERE exposed IS NULL AND returned IS NULL;
