-- A row is on several lists.
CREATE TABLE {schema}.{table}_lists (
    list bytea NOT NULL,
    key  bytea NOT NULL,
    PRIMARY KEY (list, key)
);
CREATE INDEX {table}_lists_by_key ON {schema}.{table}_lists (key);
