-- Who is signed in on the staff pages. A session holds no key, and ends with the secret that it was opened with.
CREATE TABLE sessions (
    hash        BYTEA  PRIMARY KEY, -- of the token in the browser's cookie
    secret_hash BYTEA  NOT NULL,
    ends_at     BIGINT NOT NULL
);

CREATE INDEX sessions_end ON sessions (ends_at);
