-- A row is on several lists.
CREATE TABLE grantor_{table}_lists (
    name TEXT NOT NULL,
    key  BLOB NOT NULL,
    PRIMARY KEY (name, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX grantor_{table}_lists_by_key ON grantor_{table}_lists (key);
CREATE TRIGGER grantor_{table}_removed AFTER DELETE ON grantor_{table} BEGIN
    DELETE FROM grantor_{table}_lists WHERE key = OLD.key;
END;
