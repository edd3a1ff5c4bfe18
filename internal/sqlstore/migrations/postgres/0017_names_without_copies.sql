-- A copy of the name without letter case, in which only version 1.0 searched.
ALTER TABLE pets DROP COLUMN name_folded;

-- Version 1.0 changed names without their keys. The trigger removed the key of the name before.
DROP TRIGGER category_renamed ON categories;
DROP FUNCTION category_renamed();
