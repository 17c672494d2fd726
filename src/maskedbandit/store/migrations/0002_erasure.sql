-- A person's data can be erased; the release and what it says of its members stay, so the row keeps its own hash.

ALTER TABLE place ADD COLUMN leaf TEXT;
ALTER TABLE place ADD COLUMN erased BIGINT;
-- who takes no further part, and what each place was charged; it says nothing of which place it was
CREATE TABLE erased (
  study TEXT NOT NULL REFERENCES study,
  person TEXT NOT NULL,
  period BIGINT NOT NULL,
  loss BIGINT NOT NULL REFERENCES loss
);
CREATE INDEX whoever_was_erased ON erased (study, person);
-- the places that wait to be seen, oldest first
CREATE INDEX unseen ON place (study, assigned) WHERE exposed IS NULL AND returned IS NULL;
