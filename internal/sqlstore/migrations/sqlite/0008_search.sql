-- The search index, which can be made again from the texts: for every three letters in a row (gram) of a folded text, and for
-- every block of ids, the ids of the rows that have them.
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

-- The rows of each list up to position are in the index, those after it up to last are not yet. New rows come after position.
CREATE TABLE search_progress (
    list     TEXT    PRIMARY KEY,
    position INTEGER NOT NULL,
    last     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO search_progress (list, position, last) VALUES ('pets', 0, 9223372036854775807), ('orders', 0, 9223372036854775807);

-- What has changed since it was indexed, with the text from before (none: the row is new). Triggers write it, so that no writer
-- can forget it.
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

CREATE TRIGGER pet_search_update AFTER UPDATE OF name ON pets WHEN old.name IS NOT new.name BEGIN
    INSERT INTO pet_search_changes (id, seq, previous)
    VALUES (old.id, (SELECT coalesce(max(seq), 0) + 1 FROM pet_search_changes WHERE id = old.id), old.name);
END;

CREATE TRIGGER pet_search_delete AFTER DELETE ON pets BEGIN
    INSERT INTO pet_search_changes (id, seq, previous)
    VALUES (old.id, (SELECT coalesce(max(seq), 0) + 1 FROM pet_search_changes WHERE id = old.id), old.name);
END;

-- For an animal that comes back under its id. New ids come after position.
CREATE TRIGGER pet_search_insert AFTER INSERT ON pets WHEN new.id <= (SELECT position FROM search_progress WHERE list = 'pets') BEGIN
    INSERT INTO pet_search_changes (id, seq)
    VALUES (new.id, (SELECT coalesce(max(seq), 0) + 1 FROM pet_search_changes WHERE id = new.id));
END;

CREATE TRIGGER order_search_update AFTER UPDATE OF reference ON orders WHEN old.reference IS NOT new.reference BEGIN
    INSERT INTO order_search_changes (id, seq, previous)
    VALUES (old.id, (SELECT coalesce(max(seq), 0) + 1 FROM order_search_changes WHERE id = old.id), old.reference);
END;

CREATE TRIGGER order_search_delete AFTER DELETE ON orders BEGIN
    INSERT INTO order_search_changes (id, seq, previous)
    VALUES (old.id, (SELECT coalesce(max(seq), 0) + 1 FROM order_search_changes WHERE id = old.id), old.reference);
END;
