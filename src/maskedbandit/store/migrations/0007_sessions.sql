-- Sessions of the page that were ended before their time, for all processes.

CREATE TABLE signed_out (
  session TEXT PRIMARY KEY,       -- its hash
  ends BIGINT NOT NULL            -- when it would have ended by itself: from then on the row is not needed
);
