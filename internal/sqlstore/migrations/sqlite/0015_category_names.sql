-- The name without letter case and outer spaces, by which imports find categories. It is written together with the name. Names from
-- before have none until a job adds it, because it is made by the program.
ALTER TABLE categories ADD COLUMN name_key TEXT;

CREATE INDEX categories_name     ON categories (name, id) WHERE name IS NOT NULL;
CREATE INDEX categories_name_key ON categories (name_key, id) WHERE name_key IS NOT NULL;
CREATE INDEX categories_unkeyed  ON categories (id) WHERE name_key IS NULL AND name IS NOT NULL;
