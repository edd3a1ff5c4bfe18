-- Times are microseconds since 1970, UTC. AUTOINCREMENT: an id is never used again, also after a removal.

CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE categories (
    id   INTEGER PRIMARY KEY,
    name TEXT -- none until somebody gives it one
) STRICT;

CREATE TABLE pets (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT    NOT NULL,
    name_folded TEXT    NOT NULL, -- the name without letter case, for searching
    category_id INTEGER NOT NULL REFERENCES categories (id),
    status      TEXT    CHECK (status IN ('available', 'pending', 'sold'))
) STRICT;

-- One for each combination of exact filters, each in the order of the pages: any page costs the same.
CREATE INDEX pets_status          ON pets (status, id);
CREATE INDEX pets_category        ON pets (category_id, id);
CREATE INDEX pets_category_status ON pets (category_id, status, id);

CREATE TABLE keys (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    name         TEXT    NOT NULL,
    scopes       TEXT    NOT NULL, -- separated by spaces
    hint         TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER, -- none: never
    last_used_at INTEGER  -- none: not yet
) STRICT;

-- A table of its own: a key that is being rotated has two secrets for a while.
CREATE TABLE key_secrets (
    hash    BLOB    PRIMARY KEY,
    key_id  INTEGER NOT NULL REFERENCES keys (id),
    ends_at INTEGER -- none: with the key
) STRICT, WITHOUT ROWID;

CREATE INDEX key_secrets_key ON key_secrets (key_id);
