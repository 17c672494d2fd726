-- The account of a person names the person's places, so whether somebody has a place is known from the row that is read
-- for the charge. An index of places by person would be a second one whose rows come in no order: a page of it was
-- written for nearly each person who came.

ALTER TABLE account ADD COLUMN tickets TEXT NOT NULL DEFAULT '';  -- of all places that were charged, a space after each
CREATE INDEX moving ON place (person);
UPDATE account SET tickets = COALESCE((
  SELECT STRING_AGG(place.ticket || ' ', '') FROM place JOIN study ON study.study = place.study
  WHERE study.project = account.project AND place.person = account.person AND place.period = account.period
), '');
DROP INDEX moving;
DROP INDEX each_person_has_one_place;
