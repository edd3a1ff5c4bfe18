-- An import inserts hundreds of animals with one statement. One trigger for the statement costs a fraction of one for each row.
CREATE FUNCTION pet_search_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO pet_search_changes (id) SELECT id FROM added;
    RETURN NULL;
END $$;

DROP TRIGGER pet_search_insert ON pets;
CREATE TRIGGER pet_search_insert AFTER INSERT ON pets
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION pet_search_added();
