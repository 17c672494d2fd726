-- The parties of a round are the sites of a study, or the devices of the people of a cohort, by place.

ALTER TABLE round_message RENAME COLUMN site TO party;
