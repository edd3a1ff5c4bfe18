-- Made from the migrations by go test ./internal/sqlstore -run NewFiles -update.

CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE categories (
    id   INTEGER PRIMARY KEY,
    name TEXT -- none until somebody gives it one
, name_key TEXT) STRICT;
CREATE TABLE pets (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT    NOT NULL,
    category_id INTEGER NOT NULL REFERENCES categories (id) DEFERRABLE INITIALLY DEFERRED,
    status      TEXT    CHECK (status = 'available' OR status = 'pending' OR status = 'sold')
, published INTEGER NOT NULL DEFAULT 0, status_changes INTEGER NOT NULL DEFAULT 0, name_key TEXT) STRICT;
CREATE TABLE orders (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    pet_id          INTEGER NOT NULL, -- stays when the animal is removed
    status          TEXT    NOT NULL CHECK (status = 'placed' OR status = 'approved' OR status = 'delivered' OR status = 'cancelled' OR status = 'expired'),
    reference       TEXT,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    hold_expires_at INTEGER CHECK ((hold_expires_at IS NOT NULL) = (status = 'placed'))
, changed_at INTEGER, status_before TEXT, hold_before INTEGER, pet_status_changes INTEGER, is_undo INTEGER NOT NULL DEFAULT 0, pickup_date TEXT, price TEXT, currency TEXT, customer TEXT) STRICT;
CREATE TABLE keys (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    name         TEXT    NOT NULL,
    scopes       TEXT    NOT NULL, -- separated by spaces
    hint         TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER, -- none: never
    last_used_at INTEGER  -- none: not yet
) STRICT;
CREATE TABLE key_secrets (
    hash    BLOB    PRIMARY KEY,
    key_id  INTEGER NOT NULL REFERENCES keys (id),
    ends_at INTEGER -- none: with the key
) STRICT, WITHOUT ROWID;
CREATE TABLE events (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL,
    type    TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    actor   TEXT    NOT NULL,
    data    TEXT    NOT NULL -- a JSON object
) STRICT;
CREATE TABLE webhooks (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    url             TEXT    NOT NULL,
    types           TEXT    NOT NULL, -- separated by spaces; none: all
    enabled         INTEGER NOT NULL, -- 0 or 1
    disabled_reason TEXT,
    failing_since   INTEGER,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    position        INTEGER NOT NULL  -- the event up to which there are deliveries
, leased_until INTEGER, accepted_at  INTEGER, failures     TEXT NOT NULL DEFAULT '', probe_at     INTEGER) STRICT;
CREATE TABLE webhook_secrets (
    webhook_id INTEGER NOT NULL REFERENCES webhooks (id),
    secret     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    ends_at    INTEGER, -- none: with the webhook
    PRIMARY KEY (webhook_id, secret)
) STRICT, WITHOUT ROWID;
CREATE TABLE "webhook_deliveries" (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    webhook_id    INTEGER NOT NULL,
    message_id    TEXT    NOT NULL,
    event_id      TEXT,
    event_type    TEXT    NOT NULL,
    status        TEXT    NOT NULL CHECK (status = 'pending' OR status = 'succeeded' OR status = 'failed'),
    attempts      TEXT    NOT NULL, -- a JSON array
    created_at    INTEGER NOT NULL,
    next_at       INTEGER, -- none: it is over, or waits until the webhook is enabled
    body          TEXT    NOT NULL) STRICT;
CREATE TABLE sessions (
    hash        BLOB    PRIMARY KEY, -- of the token in the browser's cookie
    secret_hash BLOB    NOT NULL,
    ends_at     INTEGER NOT NULL
, created_at INTEGER, last_seen_at INTEGER, device TEXT) STRICT, WITHOUT ROWID;
CREATE TABLE pet_search (
    gram  INTEGER NOT NULL,
    block INTEGER NOT NULL,
    ids   BLOB    NOT NULL,
    PRIMARY KEY (gram, block)
) STRICT, WITHOUT ROWID;
CREATE TABLE order_search (
    gram  INTEGER NOT NULL,
    block INTEGER NOT NULL,
    ids   BLOB    NOT NULL,
    PRIMARY KEY (gram, block)
) STRICT, WITHOUT ROWID;
CREATE TABLE search_progress (
    list     TEXT    PRIMARY KEY,
    position INTEGER NOT NULL,
    last     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE pet_search_changes (
    id       INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    previous TEXT,
    PRIMARY KEY (id, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE order_search_changes (
    id       INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    previous TEXT,
    PRIMARY KEY (id, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE event_blocks (
    last_id  INTEGER PRIMARY KEY,
    after_id INTEGER NOT NULL,
    earliest INTEGER NOT NULL,
    latest   INTEGER NOT NULL,
    actors   TEXT    NOT NULL -- with a space before and after each; none: too many
) STRICT;
CREATE TABLE pet_counts (
    category_id INTEGER PRIMARY KEY,
    total       INTEGER NOT NULL,
    available   INTEGER NOT NULL,
    pending     INTEGER NOT NULL,
    sold        INTEGER NOT NULL,
    unspecified INTEGER NOT NULL
) STRICT;
CREATE TABLE sign_in_links (
    hash        BLOB    PRIMARY KEY, -- of the token in the link
    secret_hash BLOB    NOT NULL UNIQUE,
    ends_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE "idempotency_records" (
    principal   INTEGER NOT NULL,
    key         TEXT    NOT NULL,
    fingerprint BLOB    NOT NULL,
    status      INTEGER NOT NULL,
    header      TEXT    NOT NULL, -- a JSON object
    body        BLOB    NOT NULL,
    kept_at     INTEGER NOT NULL,
    PRIMARY KEY (principal, key)
) STRICT;
CREATE TABLE inventory (
    one         INTEGER PRIMARY KEY CHECK (one = 1),
    available   INTEGER NOT NULL,
    pending     INTEGER NOT NULL,
    sold        INTEGER NOT NULL,
    unspecified INTEGER NOT NULL
) STRICT;
CREATE TABLE pet_periods (
    begins_at INTEGER PRIMARY KEY,
    arrivals  INTEGER NOT NULL,
    sales     INTEGER NOT NULL
) STRICT;
CREATE TABLE profiles (
    id                   INTEGER PRIMARY KEY, -- of the animal
    removed              INTEGER NOT NULL DEFAULT 0,
    published            INTEGER NOT NULL,
    breed                TEXT,
    second_breed         TEXT,
    mixed                INTEGER,
    sex                  TEXT,
    birth_date           TEXT,
    birth_date_estimated INTEGER,
    size                 TEXT,
    color                TEXT,
    price                TEXT,
    currency             TEXT,
    arrival_date         TEXT,
    traits               TEXT, -- separated by spaces; with a minus sign before those that the animal does not have
    tags                 TEXT, -- separated by commas
    contact_url          TEXT,
    microchip            TEXT,
    location             TEXT,
    updated_at           INTEGER NOT NULL,
    description          TEXT,
    notes                TEXT
, words TEXT AS (CASE removed WHEN 0 THEN nullif(coalesce(breed || ' ', '') || coalesce(second_breed || ' ', '') ||
    coalesce(color || ' ', '') || coalesce(tags, ''), '') END), internal_words TEXT AS (CASE removed WHEN 0 THEN nullif(coalesce(microchip || ' ', '') || coalesce(location, ''), '') END), photos TEXT, photos_removed_at INTEGER, price_key TEXT AS (CASE removed WHEN 0 THEN currency || printf('%014.4f', price) END)) STRICT;
CREATE TABLE profile_tags (
    tag TEXT    NOT NULL,
    id  INTEGER NOT NULL,
    PRIMARY KEY (tag, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE profile_search (
    gram  INTEGER NOT NULL,
    block INTEGER NOT NULL,
    ids   BLOB    NOT NULL,
    PRIMARY KEY (gram, block)
) STRICT, WITHOUT ROWID;
CREATE TABLE internal_search (
    gram  INTEGER NOT NULL,
    block INTEGER NOT NULL,
    ids   BLOB    NOT NULL,
    PRIMARY KEY (gram, block)
) STRICT, WITHOUT ROWID;
CREATE TABLE profile_search_changes (
    id       INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    previous TEXT,
    PRIMARY KEY (id, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE internal_search_changes (
    id       INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    previous TEXT,
    PRIMARY KEY (id, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE photo_files (
    name    TEXT    NOT NULL, -- of the photo
    size    TEXT    NOT NULL,
    pet_id  INTEGER NOT NULL,
    content BLOB    NOT NULL,
    PRIMARY KEY (name, size)
) STRICT;
CREATE TABLE customer_search (
    gram  INTEGER NOT NULL,
    block INTEGER NOT NULL,
    ids   BLOB    NOT NULL,
    PRIMARY KEY (gram, block)
) STRICT, WITHOUT ROWID;
CREATE TABLE customer_search_changes (
    id       INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    previous TEXT,
    PRIMARY KEY (id, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE published_pets (
    id INTEGER PRIMARY KEY
) STRICT;
CREATE INDEX pets_category_status ON pets (category_id, status, id);
CREATE UNIQUE INDEX orders_open   ON orders (pet_id) WHERE status IN ('placed', 'approved');
CREATE INDEX orders_hold          ON orders (hold_expires_at) WHERE status = 'placed';
CREATE INDEX orders_status        ON orders (status, id);
CREATE INDEX orders_pet           ON orders (pet_id, id);
CREATE INDEX orders_pet_status    ON orders (pet_id, status, id);
CREATE INDEX key_secrets_key ON key_secrets (key_id);
CREATE INDEX events_type    ON events (type, id);
CREATE INDEX events_subject ON events (subject, id);
CREATE INDEX deliveries_due     ON "webhook_deliveries" (webhook_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_webhook ON "webhook_deliveries" (webhook_id, id);
CREATE INDEX deliveries_status  ON "webhook_deliveries" (webhook_id, status, id);
CREATE INDEX sessions_end ON sessions (ends_at);
CREATE INDEX pets_available ON pets (id, name, category_id) WHERE status = 'available';
CREATE INDEX pets_pending   ON pets (id, name, category_id) WHERE status = 'pending';
CREATE INDEX pets_sold      ON pets (id, name, category_id) WHERE status = 'sold';
CREATE INDEX pet_counts_total ON pet_counts (total DESC, category_id);
CREATE INDEX sessions_secret ON sessions (secret_hash, created_at);
CREATE INDEX pets_unspecified ON pets (id) WHERE status IS NULL;
CREATE INDEX categories_name     ON categories (name, id) WHERE name IS NOT NULL;
CREATE INDEX categories_name_key ON categories (name_key, id) WHERE name_key IS NOT NULL;
CREATE INDEX categories_unkeyed  ON categories (id) WHERE name_key IS NULL AND name IS NOT NULL;
CREATE TRIGGER pet_search_insert AFTER INSERT ON pets
WHEN NOT EXISTS (SELECT 1 FROM search_progress WHERE list = 'pets' AND position < new.id AND last >= new.id)
    OR EXISTS (SELECT 1 FROM pets WHERE id > new.id) BEGIN
    INSERT INTO pet_search_changes (id, seq)
    VALUES (new.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM pet_search_changes WHERE id = new.id));
END;
CREATE TRIGGER pet_search_update AFTER UPDATE OF name ON pets WHEN old.name IS NOT new.name BEGIN
    INSERT INTO pet_search_changes (id, seq, previous)
    VALUES (old.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM pet_search_changes WHERE id = old.id), old.name);
END;
CREATE TRIGGER pet_search_delete AFTER DELETE ON pets BEGIN
    INSERT INTO pet_search_changes (id, seq, previous)
    VALUES (old.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM pet_search_changes WHERE id = old.id), old.name);
END;
CREATE TRIGGER order_search_insert AFTER INSERT ON orders
WHEN new.reference IS NOT NULL AND new.id > (SELECT last FROM search_progress WHERE list = 'orders') BEGIN
    INSERT INTO order_search_changes (id, seq)
    VALUES (new.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM order_search_changes WHERE id = new.id));
END;
CREATE TRIGGER order_search_update AFTER UPDATE OF reference ON orders WHEN old.reference IS NOT new.reference BEGIN
    INSERT INTO order_search_changes (id, seq, previous)
    VALUES (old.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM order_search_changes WHERE id = old.id), old.reference);
END;
CREATE TRIGGER order_search_delete AFTER DELETE ON orders BEGIN
    INSERT INTO order_search_changes (id, seq, previous)
    VALUES (old.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM order_search_changes WHERE id = old.id), old.reference);
END;
CREATE INDEX profiles_sex  ON profiles (sex, id)  WHERE removed = 0 AND sex IS NOT NULL;
CREATE INDEX profiles_size ON profiles (size, id) WHERE removed = 0 AND size IS NOT NULL;
CREATE INDEX pets_published   ON pets (id) WHERE published = 1;
CREATE INDEX pets_unpublished ON pets (id) WHERE published = 0;
CREATE TRIGGER profile_search_insert AFTER INSERT ON profiles WHEN new.words IS NOT NULL BEGIN
    INSERT INTO profile_search_changes (id, seq)
    VALUES (new.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM profile_search_changes WHERE id = new.id));
END;
CREATE TRIGGER profile_search_update AFTER UPDATE ON profiles WHEN old.words IS NOT new.words BEGIN
    INSERT INTO profile_search_changes (id, seq, previous)
    VALUES (old.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM profile_search_changes WHERE id = old.id), old.words);
END;
CREATE TRIGGER profile_search_delete AFTER DELETE ON profiles WHEN old.words IS NOT NULL BEGIN
    INSERT INTO profile_search_changes (id, seq, previous)
    VALUES (old.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM profile_search_changes WHERE id = old.id), old.words);
END;
CREATE TRIGGER internal_search_insert AFTER INSERT ON profiles WHEN new.internal_words IS NOT NULL BEGIN
    INSERT INTO internal_search_changes (id, seq)
    VALUES (new.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM internal_search_changes WHERE id = new.id));
END;
CREATE TRIGGER internal_search_update AFTER UPDATE ON profiles WHEN old.internal_words IS NOT new.internal_words BEGIN
    INSERT INTO internal_search_changes (id, seq, previous)
    VALUES (old.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM internal_search_changes WHERE id = old.id), old.internal_words);
END;
CREATE TRIGGER internal_search_delete AFTER DELETE ON profiles WHEN old.internal_words IS NOT NULL BEGIN
    INSERT INTO internal_search_changes (id, seq, previous)
    VALUES (old.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM internal_search_changes WHERE id = old.id), old.internal_words);
END;
CREATE INDEX profiles_photos_removed ON profiles (photos_removed_at) WHERE photos_removed_at IS NOT NULL;
CREATE INDEX orders_pickup      ON orders (pickup_date, id) WHERE pickup_date IS NOT NULL;
CREATE INDEX orders_pickup_open ON orders (pickup_date, id) WHERE status IN ('placed', 'approved');
CREATE INDEX idempotency_records_time ON idempotency_records (kept_at);
CREATE INDEX pets_name    ON pets (name_key, id) WHERE name_key IS NOT NULL;
CREATE INDEX pets_unkeyed ON pets (id) WHERE name_key IS NULL;
CREATE TRIGGER pet_name_update AFTER UPDATE OF name ON pets WHEN old.name IS NOT new.name BEGIN
    UPDATE pets SET name_key = NULL WHERE id = new.id;
END;
CREATE INDEX profiles_price_key  ON profiles (price_key, id)  WHERE price_key IS NOT NULL;
CREATE INDEX profiles_birth_date ON profiles (birth_date, id) WHERE removed = 0 AND birth_date IS NOT NULL;
CREATE INDEX orders_customer_closed ON orders (changed_at) WHERE customer IS NOT NULL AND status IN ('delivered', 'cancelled', 'expired');
CREATE TRIGGER customer_search_insert AFTER INSERT ON orders WHEN new.customer IS NOT NULL BEGIN
    INSERT INTO customer_search_changes (id, seq)
    VALUES (new.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM customer_search_changes WHERE id = new.id));
END;
CREATE TRIGGER customer_search_update AFTER UPDATE OF customer ON orders WHEN old.customer IS NOT new.customer BEGIN
    INSERT INTO customer_search_changes (id, seq, previous)
    VALUES (old.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM customer_search_changes WHERE id = old.id), old.customer);
END;
CREATE TRIGGER customer_search_delete AFTER DELETE ON orders WHEN old.customer IS NOT NULL BEGIN
    INSERT INTO customer_search_changes (id, seq, previous)
    VALUES (old.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM customer_search_changes WHERE id = old.id), old.customer);
END;
CREATE INDEX pets_window          ON pets (id)              WHERE published = 1 AND status IN ('available', 'pending');
CREATE INDEX pets_window_category ON pets (category_id, id) WHERE published = 1 AND status IN ('available', 'pending');
INSERT INTO search_progress VALUES ('orders', 0, 9223372036854775807);
INSERT INTO search_progress VALUES ('orders, customers', 9223372036854775806, 9223372036854775807);
INSERT INTO search_progress VALUES ('pets', 0, 9223372036854775807);
INSERT INTO search_progress VALUES ('profiles', 9223372036854775806, 9223372036854775807);
INSERT INTO search_progress VALUES ('profiles, internal', 9223372036854775806, 9223372036854775807);
INSERT INTO inventory VALUES (1, 0, 0, 0, 0);
