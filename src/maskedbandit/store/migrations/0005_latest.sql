-- A process that runs the code of an older version, and holds a study while these tables are brought up to date, would
-- go on to give people places that their accounts do not name, and whoever comes again a second one. Each of its
-- transactions names this column by its older name, so it writes nothing more.

ALTER TABLE study RENAME COLUMN clock TO latest;  -- the latest time that the study has seen
