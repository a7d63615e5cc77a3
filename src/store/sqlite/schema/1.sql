-- Names beginning with grantor_ are the store's, all others are the embedder's.
-- Columns are what an operator asks about; everything else is in the record. Times are seconds since 1970.
CREATE TABLE grantor_grants (
    id          BLOB    NOT NULL UNIQUE,
    version     INTEGER NOT NULL,
    client      TEXT    NOT NULL,
    subject     TEXT    NOT NULL,
    created     INTEGER NOT NULL,
    purge_check INTEGER NOT NULL, -- not later than the record's own
    revoked_at  INTEGER,
    revoked_why TEXT,
    record      BLOB    NOT NULL
) STRICT;
CREATE INDEX grantor_grants_of_subject ON grantor_grants (subject, id);
CREATE INDEX grantor_grants_by_purge ON grantor_grants (purge_check);

CREATE TABLE grantor_authorizations (
    id          BLOB    NOT NULL UNIQUE,
    version     INTEGER NOT NULL,
    client      TEXT    NOT NULL,
    subject     TEXT    NOT NULL,
    created     INTEGER NOT NULL,
    purge_check INTEGER NOT NULL, -- not later than the record's own
    record      BLOB    NOT NULL
) STRICT;
CREATE INDEX grantor_authorizations_of_subject ON grantor_authorizations (subject, id);
CREATE INDEX grantor_authorizations_by_purge ON grantor_authorizations (purge_check);

CREATE TABLE grantor_clients (
    id      TEXT    NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    record  BLOB    NOT NULL
) STRICT;

CREATE TABLE grantor_applications (
    id     TEXT NOT NULL PRIMARY KEY,
    record BLOB NOT NULL
) STRICT;

CREATE TABLE grantor_application_lists (
    filter TEXT NOT NULL,
    id     TEXT NOT NULL,
    PRIMARY KEY (filter, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX grantor_application_lists_by_id ON grantor_application_lists (id);

CREATE TABLE grantor_logos (
    id    TEXT NOT NULL,
    slot  TEXT NOT NULL, -- in-force or proposed
    image BLOB NOT NULL,
    PRIMARY KEY (id, slot)
) STRICT;
