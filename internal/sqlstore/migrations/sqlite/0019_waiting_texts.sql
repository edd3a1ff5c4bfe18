-- While last has its highest value, new rows wait for the index because they follow position. When too many wait, last becomes the
-- last id, and writes index their own texts. From then on, new rows are queued like changed ones, until all rows up to last are in the index.
--
-- A pair of id and seq is never used again, so a row that is missing from the queue was indexed. The first seq of an id is a random number.
-- An animal that comes back under its id is queued, even if it is one of those that follow position.
DROP TRIGGER pet_search_insert;
CREATE TRIGGER pet_search_insert AFTER INSERT ON pets
WHEN NOT EXISTS (SELECT 1 FROM search_progress WHERE list = 'pets' AND position < new.id AND last >= new.id)
    OR EXISTS (SELECT 1 FROM pets WHERE id > new.id) BEGIN
    INSERT INTO pet_search_changes (id, seq)
    VALUES (new.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM pet_search_changes WHERE id = new.id));
END;

DROP TRIGGER pet_search_update;
CREATE TRIGGER pet_search_update AFTER UPDATE OF name ON pets WHEN old.name IS NOT new.name BEGIN
    INSERT INTO pet_search_changes (id, seq, previous)
    VALUES (old.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM pet_search_changes WHERE id = old.id), old.name);
END;

DROP TRIGGER pet_search_delete;
CREATE TRIGGER pet_search_delete AFTER DELETE ON pets BEGIN
    INSERT INTO pet_search_changes (id, seq, previous)
    VALUES (old.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM pet_search_changes WHERE id = old.id), old.name);
END;

CREATE TRIGGER order_search_insert AFTER INSERT ON orders
WHEN new.reference IS NOT NULL AND new.id > (SELECT last FROM search_progress WHERE list = 'orders') BEGIN
    INSERT INTO order_search_changes (id, seq)
    VALUES (new.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM order_search_changes WHERE id = new.id));
END;

DROP TRIGGER order_search_update;
CREATE TRIGGER order_search_update AFTER UPDATE OF reference ON orders WHEN old.reference IS NOT new.reference BEGIN
    INSERT INTO order_search_changes (id, seq, previous)
    VALUES (old.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM order_search_changes WHERE id = old.id), old.reference);
END;

DROP TRIGGER order_search_delete;
CREATE TRIGGER order_search_delete AFTER DELETE ON orders BEGIN
    INSERT INTO order_search_changes (id, seq, previous)
    VALUES (old.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM order_search_changes WHERE id = old.id), old.reference);
END;
