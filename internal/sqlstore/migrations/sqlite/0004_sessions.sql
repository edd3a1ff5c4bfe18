-- Who is signed in on the staff pages. A session holds no key, and ends with the secret that it was opened with.
CREATE TABLE sessions (
    hash        BLOB    PRIMARY KEY, -- of the token in the browser's cookie
    secret_hash BLOB    NOT NULL,
    ends_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_end ON sessions (ends_at);
