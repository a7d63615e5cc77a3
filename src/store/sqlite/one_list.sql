-- Each row is on the list of its subject.
CREATE INDEX grantor_{table}_of_subject ON grantor_{table} (subject, key) WHERE subject IS NOT NULL;
