-- A copy of the name without letter case, in which only version 1.0 searched.
ALTER TABLE pets DROP COLUMN name_folded;
