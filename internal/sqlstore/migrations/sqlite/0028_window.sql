-- The animals that were ever published, also those that have been removed: the shop window says of them that they are gone.
CREATE TABLE published_pets (
    id INTEGER PRIMARY KEY
) STRICT;

INSERT INTO published_pets (id) SELECT id FROM profiles WHERE published = 1;

-- The animals that the shop window shows.
CREATE INDEX pets_window          ON pets (id)              WHERE published = 1 AND status IN ('available', 'pending');
CREATE INDEX pets_window_category ON pets (category_id, id) WHERE published = 1 AND status IN ('available', 'pending');
