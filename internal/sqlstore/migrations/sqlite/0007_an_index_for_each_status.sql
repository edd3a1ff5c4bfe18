-- An index for each status in place of one for all. A new animal comes last in its index, which is found without a search, and
-- its status is not written there again.
DROP INDEX pets_status;
CREATE INDEX pets_available ON pets (id, name, category_id) WHERE status = 'available';
CREATE INDEX pets_pending   ON pets (id, name, category_id) WHERE status = 'pending';
CREATE INDEX pets_sold      ON pets (id, name, category_id) WHERE status = 'sold';
