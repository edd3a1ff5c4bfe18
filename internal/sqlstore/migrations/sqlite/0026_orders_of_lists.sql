-- The names as lists that are sorted by name compare them. A job sets them, because the entries of new animals are spread over the
-- whole index. Until then, name_key is NULL.
ALTER TABLE pets ADD COLUMN name_key TEXT;
CREATE INDEX pets_name    ON pets (name_key, id) WHERE name_key IS NOT NULL;
CREATE INDEX pets_unkeyed ON pets (id) WHERE name_key IS NULL;

CREATE TRIGGER pet_name_update AFTER UPDATE OF name ON pets WHEN old.name IS NOT new.name BEGIN
    UPDATE pets SET name_key = NULL WHERE id = new.id;
END;

-- Prices by their currency and then by their amount.
ALTER TABLE profiles ADD COLUMN price_key TEXT AS (CASE removed WHEN 0 THEN currency || printf('%014.4f', price) END);
CREATE INDEX profiles_price_key  ON profiles (price_key, id)  WHERE price_key IS NOT NULL;
CREATE INDEX profiles_birth_date ON profiles (birth_date, id) WHERE removed = 0 AND birth_date IS NOT NULL;
