-- As for each status: the staff pages list the animals that have none.
CREATE INDEX pets_unspecified ON pets (id) WHERE status IS NULL;
