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

-- The animals by status, kept with every change: counting a million of them would take too long.
CREATE TABLE inventory (
    status TEXT    PRIMARY KEY, -- '' for none
    n      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO inventory (status, n) VALUES ('', 0), ('available', 0), ('pending', 0), ('sold', 0);

CREATE TABLE orders (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    pet_id          INTEGER NOT NULL, -- stays when the animal is removed
    status          TEXT    NOT NULL CHECK (status IN ('placed', 'approved', 'delivered', 'cancelled', 'expired')),
    reference       TEXT,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    hold_expires_at INTEGER CHECK ((hold_expires_at IS NOT NULL) = (status = 'placed'))
) STRICT;

-- Nobody can sell an animal twice: one open order at most.
CREATE UNIQUE INDEX orders_open   ON orders (pet_id) WHERE status IN ('placed', 'approved');
CREATE INDEX orders_hold          ON orders (hold_expires_at) WHERE status = 'placed';
CREATE INDEX orders_status        ON orders (status, id);
CREATE INDEX orders_pet           ON orders (pet_id, id);
CREATE INDEX orders_pet_status    ON orders (pet_id, status, id);

-- The answers to repeat, under the idempotency keys of each API key (0: the configured one).
CREATE TABLE kept_answers (
    principal   INTEGER NOT NULL,
    key         TEXT    NOT NULL,
    fingerprint BLOB    NOT NULL,
    status      INTEGER NOT NULL,
    header      TEXT    NOT NULL, -- a JSON object
    body        BLOB    NOT NULL,
    kept_at     INTEGER NOT NULL,
    PRIMARY KEY (principal, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX kept_answers_time ON kept_answers (kept_at);

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
