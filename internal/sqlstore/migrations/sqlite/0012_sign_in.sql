-- What the list of sessions shows. Sessions from before have none of it.
ALTER TABLE sessions ADD COLUMN created_at INTEGER;
ALTER TABLE sessions ADD COLUMN last_seen_at INTEGER;
ALTER TABLE sessions ADD COLUMN device TEXT; -- the browser and its system in plain words

CREATE INDEX sessions_secret ON sessions (secret_hash, created_at);

-- Links that open one session. A link ends with its secret; a new one replaces it.
CREATE TABLE sign_in_links (
    hash        BLOB    PRIMARY KEY, -- of the token in the link
    secret_hash BLOB    NOT NULL UNIQUE,
    ends_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
