-- Each row is on the list of its subject. Rows without one are in the index too: a condition would cost each statement a
-- twentieth of its time.
CREATE INDEX {table}_of_subject ON {schema}.{table} (subject, key);
