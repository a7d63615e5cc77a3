-- Subjects and filters are octets: a text column could hold no NUL, and would compare by a collation.
-- What is never written after the insert has indexes; what a refresh writes has none, so that a refresh
-- is a heap-only update. It needs room for both versions of a row on one page: the fill factor.
CREATE TABLE {schema}.authorizations (
    id          uuid PRIMARY KEY,
    version     bigint NOT NULL,
    created     timestamptz NOT NULL,
    purge_after timestamptz NOT NULL,
    purge_check timestamptz NOT NULL,
    client      text COLLATE "C" NOT NULL,
    subject     bytea NOT NULL,
    record      bytea NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX authorizations_of_subject ON {schema}.authorizations (subject, id);
CREATE INDEX authorizations_to_purge ON {schema}.authorizations (purge_check);
COMMENT ON COLUMN {schema}.authorizations.purge_check IS
    'when the purge looks at the row; not later than purge_after, and moved there by the purge';

CREATE TABLE {schema}.grants (
    id          uuid PRIMARY KEY,
    version     bigint NOT NULL,
    created     timestamptz NOT NULL,
    purge_after timestamptz NOT NULL,
    purge_check timestamptz NOT NULL,
    revoked_at  timestamptz,
    client      text COLLATE "C" NOT NULL,
    subject     bytea NOT NULL,
    record      bytea NOT NULL,
    revoked_why text COLLATE "C"
) WITH (fillfactor = 80);
CREATE INDEX grants_of_subject ON {schema}.grants (subject, id);
CREATE INDEX grants_to_purge ON {schema}.grants (purge_check);
COMMENT ON COLUMN {schema}.grants.purge_check IS
    'when the purge looks at the row; not later than purge_after, and moved there by the purge';

CREATE TABLE {schema}.clients (
    id            text COLLATE "C" PRIMARY KEY,
    version       bigint NOT NULL,
    state         text COLLATE "C" NOT NULL,
    applicant     bytea NOT NULL,
    submitted     timestamptz NOT NULL,
    client        bytea NOT NULL,
    application   bytea NOT NULL,
    logo          bytea,
    proposed_logo bytea
);

CREATE TABLE {schema}.applications_listed (
    filter bytea NOT NULL,
    client text COLLATE "C" NOT NULL,
    PRIMARY KEY (filter, client)
);
CREATE INDEX filters_of_application ON {schema}.applications_listed (client);
