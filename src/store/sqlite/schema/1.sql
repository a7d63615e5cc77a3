-- Columns are what an operator asks about; everything else is in the record. Times are seconds since 1970.
CREATE TABLE grants (
    id          BLOB    NOT NULL UNIQUE,
    version     INTEGER NOT NULL,
    client      TEXT    NOT NULL,
    subject     TEXT    NOT NULL,
    created     INTEGER NOT NULL,
    purge_after INTEGER NOT NULL, -- not later than the record's own
    revoked_at  INTEGER,
    revoked_why TEXT,
    record      BLOB    NOT NULL
) STRICT;
CREATE INDEX grants_of_subject ON grants (subject, id);
CREATE INDEX grants_by_purge ON grants (purge_after);

CREATE TABLE authorizations (
    id          BLOB    NOT NULL UNIQUE,
    version     INTEGER NOT NULL,
    client      TEXT    NOT NULL,
    subject     TEXT    NOT NULL,
    created     INTEGER NOT NULL,
    purge_after INTEGER NOT NULL, -- not later than the record's own
    record      BLOB    NOT NULL
) STRICT;
CREATE INDEX authorizations_of_subject ON authorizations (subject, id);
CREATE INDEX authorizations_by_purge ON authorizations (purge_after);

CREATE TABLE clients (
    id      TEXT    NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    record  BLOB    NOT NULL
) STRICT;

CREATE TABLE applications (
    id     TEXT NOT NULL PRIMARY KEY,
    record BLOB NOT NULL
) STRICT;

CREATE TABLE application_lists (
    filter TEXT NOT NULL,
    id     TEXT NOT NULL,
    PRIMARY KEY (filter, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX application_lists_by_id ON application_lists (id);

CREATE TABLE logos (
    id    TEXT NOT NULL,
    slot  TEXT NOT NULL, -- in-force or proposed
    image BLOB NOT NULL,
    PRIMARY KEY (id, slot)
) STRICT;
