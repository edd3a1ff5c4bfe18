-- The names as lists that are sorted by name compare them. A job sets them. Until then, name_key is NULL.
ALTER TABLE pets ADD COLUMN name_key TEXT COLLATE "C";
CREATE INDEX pets_name    ON pets (name_key, id) WHERE name_key IS NOT NULL;
CREATE INDEX pets_unkeyed ON pets (id) WHERE name_key IS NULL;

CREATE FUNCTION pet_name_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.name_key := NULL;
    RETURN NEW;
END $$;

CREATE TRIGGER pet_name_update BEFORE UPDATE ON pets
    FOR EACH ROW WHEN (OLD.name IS DISTINCT FROM NEW.name) EXECUTE FUNCTION pet_name_changed();

-- Prices by their currency and then by their amount.
ALTER TABLE profiles ADD COLUMN price_key TEXT COLLATE "C" GENERATED ALWAYS AS
    (CASE removed WHEN 0 THEN currency || lpad(split_part(price, '.', 1), 9, '0') || '.' || rpad(split_part(price, '.', 2), 4, '0') END) STORED;
CREATE INDEX profiles_price_key  ON profiles (price_key, id)  WHERE price_key IS NOT NULL;
CREATE INDEX profiles_birth_date ON profiles (birth_date, id) WHERE removed = 0 AND birth_date IS NOT NULL;
