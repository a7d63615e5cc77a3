-- A table of records. Names beginning with grantor_ are the store's, all others are your service's. Columns are for operators
-- and for indexes; everything else is in the record. Times are seconds since 1970. A refresh writes no column that an index
-- holds.
CREATE TABLE grantor_{table} (
    key       BLOB    NOT NULL UNIQUE,
    version   INTEGER NOT NULL,
    client    TEXT,
    subject   TEXT,
    created   INTEGER,
    state     TEXT    NOT NULL,
    ended_at  INTEGER,
    ended_why TEXT,
    due       INTEGER, -- from when the row may be removed; NULL: it stays
    due_check INTEGER, -- when the purge compares due next
    record    BLOB    NOT NULL
) STRICT;
CREATE INDEX grantor_{table}_by_due ON grantor_{table} (due_check);
