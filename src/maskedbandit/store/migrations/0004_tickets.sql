-- The account of a person names the person's places, so whether somebody has a place is known from the row that is read
-- for the charge. An index of places by person would be a second one whose rows come in no order: a page of it was
-- written for nearly each person who came.

ALTER TABLE account ADD COLUMN tickets TEXT NOT NULL DEFAULT '';  -- of all places that were charged, a space after each
UPDATE account SET tickets = named.tickets FROM (
  SELECT project, person, period, STRING_AGG(ticket || ' ', '') AS tickets FROM place
  JOIN study ON study.study = place.study WHERE person IS NOT NULL GROUP BY project, person, period
) AS named WHERE named.project = account.project AND named.person = account.person AND named.period = account.period;
DROP INDEX each_person_has_one_place;
