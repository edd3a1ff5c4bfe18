-- What the shop says of an animal, if anybody has written anything. It stays when the animal is removed, until the animal cannot be
-- restored any more: removed is 1 meanwhile, and no index of the lists contains it. The long texts come last, so that the other
-- columns are read without them.
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
) STRICT;

CREATE INDEX profiles_sex  ON profiles (sex, id)  WHERE removed = 0 AND sex IS NOT NULL;
CREATE INDEX profiles_size ON profiles (size, id) WHERE removed = 0 AND size IS NOT NULL;

-- The tags of the animals that are not removed, without letter case and the spaces around them.
CREATE TABLE profile_tags (
    tag TEXT    NOT NULL,
    id  INTEGER NOT NULL,
    PRIMARY KEY (tag, id)
) STRICT, WITHOUT ROWID;

-- A copy of profiles.published, because most animals have no row there. A new animal comes last in its index.
ALTER TABLE pets ADD COLUMN published INTEGER NOT NULL DEFAULT 0;
CREATE INDEX pets_published   ON pets (id) WHERE published = 1;
CREATE INDEX pets_unpublished ON pets (id) WHERE published = 0;
