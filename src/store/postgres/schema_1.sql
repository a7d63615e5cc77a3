-- One shape for all tables. Subjects, lists and keys of replays are bytes: a text column could hold no NUL,
-- and would compare by a collation. A refresh changes no value that an index holds, so it is a heap-only
-- update. It needs room for both versions of a row on one page: the fill factor. The indexes of
-- subjects hold rows without one too, since a condition costs each statement a twentieth of its time. Pushed
-- requests, replays and the last purge have no subject: the condition keeps those indexes empty.
CREATE TABLE {schema}.authorizations (
    key       uuid PRIMARY KEY,
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
CREATE INDEX authorizations_of_subject ON {schema}.authorizations (subject, key);
CREATE INDEX authorizations_due ON {schema}.authorizations (due_check);

CREATE TABLE {schema}.grants (
    key       uuid PRIMARY KEY,
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
CREATE INDEX grants_of_subject ON {schema}.grants (subject, key);
CREATE INDEX grants_due ON {schema}.grants (due_check);

CREATE TABLE {schema}.pushed_requests (
    key       uuid PRIMARY KEY,
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
CREATE INDEX pushed_requests_of_subject ON {schema}.pushed_requests (subject, key) WHERE subject IS NOT NULL;
CREATE INDEX pushed_requests_due ON {schema}.pushed_requests (due_check);

CREATE TABLE {schema}.last_purge (
    key       bytea PRIMARY KEY,
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
);
CREATE INDEX last_purge_of_subject ON {schema}.last_purge (subject, key) WHERE subject IS NOT NULL;
CREATE INDEX last_purge_due ON {schema}.last_purge (due_check);

CREATE TABLE {schema}.replays (
    key       bytea PRIMARY KEY,
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
);
CREATE INDEX replays_of_subject ON {schema}.replays (subject, key) WHERE subject IS NOT NULL;
CREATE INDEX replays_due ON {schema}.replays (due_check);

CREATE TABLE {schema}.clients (
    key           text COLLATE "C" PRIMARY KEY,
    version       bigint NOT NULL,
    created       timestamptz,
    due           timestamptz,
    due_check     timestamptz,
    ended_at      timestamptz,
    client        text COLLATE "C",
    subject       bytea,
    record        bytea NOT NULL,
    state         text COLLATE "C" NOT NULL,
    ended_why     text COLLATE "C",
    application   bytea,
    logo          bytea,
    proposed_logo bytea
);
CREATE INDEX clients_due ON {schema}.clients (due_check);

CREATE TABLE {schema}.client_lists (
    list bytea NOT NULL,
    key  text COLLATE "C" NOT NULL,
    PRIMARY KEY (list, key)
);
CREATE INDEX lists_of_client ON {schema}.client_lists (key);
