-- What the shop says of an animal, if anybody has written anything. It stays when the animal is removed, until the animal cannot be
-- restored any more: removed is 1 meanwhile, and no index of the lists contains it.
CREATE TABLE profiles (
    id                   BIGINT PRIMARY KEY, -- of the animal
    removed              BIGINT NOT NULL DEFAULT 0,
    published            BIGINT NOT NULL,
    breed                TEXT,
    second_breed         TEXT,
    mixed                BIGINT,
    sex                  TEXT,
    birth_date           TEXT,
    birth_date_estimated BIGINT,
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
    updated_at           BIGINT NOT NULL,
    description          TEXT,
    notes                TEXT
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);

CREATE INDEX profiles_sex  ON profiles (sex, id)  WHERE removed = 0 AND sex IS NOT NULL;
CREATE INDEX profiles_size ON profiles (size, id) WHERE removed = 0 AND size IS NOT NULL;

-- The tags of the animals that are not removed, without letter case and the spaces around them.
CREATE TABLE profile_tags (
    tag TEXT   NOT NULL,
    id  BIGINT NOT NULL,
    PRIMARY KEY (tag, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);

-- A copy of profiles.published, because most animals have no row there.
ALTER TABLE pets ADD COLUMN published BIGINT NOT NULL DEFAULT 0;
CREATE INDEX pets_published ON pets (published, id);
