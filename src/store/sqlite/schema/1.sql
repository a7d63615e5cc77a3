-- Names beginning with grantor_ are the store's, all others are your service's.
-- Columns are for operators and for indexes; everything else is in the record. Times are seconds since 1970.
-- The six tables of records have the same columns. A refresh writes no column that an index holds.
CREATE TABLE grantor_authorizations (
    key       BLOB    NOT NULL UNIQUE,
    version   INTEGER NOT NULL,
    client    TEXT,
    subject   TEXT,    -- the list that the row is on
    created   INTEGER,
    state     TEXT    NOT NULL,
    ended_at  INTEGER,
    ended_why TEXT,
    due       INTEGER, -- from when the row may be removed; NULL: it stays
    due_check INTEGER, -- when the purge compares due next
    record    BLOB    NOT NULL
) STRICT;
CREATE INDEX grantor_authorizations_of_subject ON grantor_authorizations (subject, key) WHERE subject IS NOT NULL;
CREATE INDEX grantor_authorizations_by_due ON grantor_authorizations (due_check);

CREATE TABLE grantor_grants (
    key       BLOB    NOT NULL UNIQUE,
    version   INTEGER NOT NULL,
    client    TEXT,
    subject   TEXT,    -- the list that the row is on
    created   INTEGER,
    state     TEXT    NOT NULL,
    ended_at  INTEGER,
    ended_why TEXT,
    due       INTEGER,
    due_check INTEGER,
    record    BLOB    NOT NULL
) STRICT;
CREATE INDEX grantor_grants_of_subject ON grantor_grants (subject, key) WHERE subject IS NOT NULL;
CREATE INDEX grantor_grants_by_due ON grantor_grants (due_check);

CREATE TABLE grantor_pushed_requests (
    key       BLOB    NOT NULL UNIQUE,
    version   INTEGER NOT NULL,
    client    TEXT,
    subject   TEXT,    -- the list that the row is on
    created   INTEGER,
    state     TEXT    NOT NULL,
    ended_at  INTEGER,
    ended_why TEXT,
    due       INTEGER,
    due_check INTEGER,
    record    BLOB    NOT NULL
) STRICT;
CREATE INDEX grantor_pushed_requests_of_subject ON grantor_pushed_requests (subject, key) WHERE subject IS NOT NULL;
CREATE INDEX grantor_pushed_requests_by_due ON grantor_pushed_requests (due_check);

CREATE TABLE grantor_last_purge (
    key       BLOB    NOT NULL UNIQUE,
    version   INTEGER NOT NULL,
    client    TEXT,
    subject   TEXT,    -- the list that the row is on
    created   INTEGER,
    state     TEXT    NOT NULL,
    ended_at  INTEGER,
    ended_why TEXT,
    due       INTEGER,
    due_check INTEGER,
    record    BLOB    NOT NULL
) STRICT;
CREATE INDEX grantor_last_purge_of_subject ON grantor_last_purge (subject, key) WHERE subject IS NOT NULL;
CREATE INDEX grantor_last_purge_by_due ON grantor_last_purge (due_check);

CREATE TABLE grantor_replays (
    key       BLOB    NOT NULL UNIQUE,
    version   INTEGER NOT NULL,
    client    TEXT,
    subject   TEXT,    -- the list that the row is on
    created   INTEGER,
    state     TEXT    NOT NULL,
    ended_at  INTEGER,
    ended_why TEXT,
    due       INTEGER,
    due_check INTEGER,
    record    BLOB    NOT NULL
) STRICT;
CREATE INDEX grantor_replays_of_subject ON grantor_replays (subject, key) WHERE subject IS NOT NULL;
CREATE INDEX grantor_replays_by_due ON grantor_replays (due_check);

CREATE TABLE grantor_clients (
    key       BLOB    NOT NULL UNIQUE,
    version   INTEGER NOT NULL,
    client    TEXT,
    subject   TEXT,    -- the owner
    created   INTEGER,
    state     TEXT    NOT NULL,
    ended_at  INTEGER,
    ended_why TEXT,
    due       INTEGER,
    due_check INTEGER,
    record    BLOB    NOT NULL
) STRICT;
CREATE INDEX grantor_clients_by_due ON grantor_clients (due_check);

CREATE TABLE grantor_clients_lists (
    name TEXT NOT NULL,
    key  BLOB NOT NULL,
    PRIMARY KEY (name, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX grantor_clients_lists_by_key ON grantor_clients_lists (key);

CREATE TABLE grantor_clients_parts (
    key   BLOB NOT NULL,
    part  TEXT NOT NULL, -- application, logo or proposed_logo
    bytes BLOB NOT NULL,
    PRIMARY KEY (key, part)
) STRICT;

CREATE TRIGGER grantor_clients_removed AFTER DELETE ON grantor_clients BEGIN
    DELETE FROM grantor_clients_lists WHERE key = OLD.key;
    DELETE FROM grantor_clients_parts WHERE key = OLD.key;
END;
