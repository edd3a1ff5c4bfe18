-- Store responses in the order in which they are written, and only the index in the random order of the keys. In the order of the
-- keys, each row of half a kilobyte changed another page, and the table grew by a page for every few keys.
CREATE TABLE kept_answers_by_row (
    principal   INTEGER NOT NULL,
    key         TEXT    NOT NULL,
    fingerprint BLOB    NOT NULL,
    status      INTEGER NOT NULL,
    header      TEXT    NOT NULL, -- a JSON object
    body        BLOB    NOT NULL,
    kept_at     INTEGER NOT NULL,
    PRIMARY KEY (principal, key)
) STRICT;

INSERT INTO kept_answers_by_row (principal, key, fingerprint, status, header, body, kept_at)
SELECT principal, key, fingerprint, status, header, body, kept_at FROM kept_answers ORDER BY kept_at;

DROP TABLE kept_answers;
ALTER TABLE kept_answers_by_row RENAME TO kept_answers;
CREATE INDEX kept_answers_time ON kept_answers (kept_at);
