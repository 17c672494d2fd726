-- At a site: to which lists of the sites of a study somebody there has agreed, until the site's ledger says so.

CREATE TABLE agreed_list (
  study TEXT PRIMARY KEY REFERENCES study,
  lists TEXT NOT NULL,            -- all but that of the protocol, oldest first, as JSON
  signed TEXT NOT NULL            -- the site's signature of the name of the last one
);
