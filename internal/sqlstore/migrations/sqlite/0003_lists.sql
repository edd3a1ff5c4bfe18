-- A page by status is read from its index alone. To look up each animal, a page of a million took half as long again.
DROP INDEX pets_status;
CREATE INDEX pets_status ON pets (status, id, name, category_id);
