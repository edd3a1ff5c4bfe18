-- While last has its highest value, new rows wait for the index because they follow position. When too many wait, last becomes the
-- last id, and writes index their own texts. From then on, new rows are queued like changed ones, until all rows up to last are in the index.
DROP TRIGGER pet_search_insert;
CREATE TRIGGER pet_search_insert AFTER INSERT ON pets
WHEN NOT EXISTS (SELECT 1 FROM search_progress WHERE list = 'pets' AND position < new.id AND last >= new.id) BEGIN
    INSERT INTO pet_search_changes (id, seq)
    VALUES (new.id, (SELECT coalesce(max(seq), 0) + 1 FROM pet_search_changes WHERE id = new.id));
END;

CREATE TRIGGER order_search_insert AFTER INSERT ON orders
WHEN new.reference IS NOT NULL AND new.id > (SELECT last FROM search_progress WHERE list = 'orders') BEGIN
    INSERT INTO order_search_changes (id, seq)
    VALUES (new.id, (SELECT coalesce(max(seq), 0) + 1 FROM order_search_changes WHERE id = new.id));
END;
