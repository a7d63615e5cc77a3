-- A table of records. Keys of 16 bytes are of the type uuid, which takes less room. Other keys, subjects and lists are bytes: a
-- text column could hold no NUL, and would compare by a collation.
-- A refresh changes no value that an index holds, so it is a heap-only update. It needs room for both versions of a row on one
-- page: the fill factor.
CREATE TABLE {schema}.{table} (
    key       {key} PRIMARY KEY,
    version   bigint NOT NULL,
    created   timestamptz,
    due       timestamptz,
    due_check timestamptz,
    ended_at  timestamptz,
    client    text COLLATE "C",
    subject   bytea,
    record    bytea NOT NULL,
    state     text COLLATE "C" NOT NULL,
    ended_why text COLLATE "C"
) WITH (fillfactor = 80);
CREATE INDEX {table}_due ON {schema}.{table} (due_check);
