-- What every new animal costs. A page of a category is read from the index by category and status, a part for each status.
DROP INDEX pets_category;

-- That the category exists is checked with the commit: checked with each statement, SQLite must be ready to undo that statement
-- alone. The rows stay as they are, so the text of the table alone is changed, as SQLite's documentation of ALTER TABLE has it.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'REFERENCES categories (id)', 'REFERENCES categories (id) DEFERRABLE INITIALLY DEFERRED')
WHERE type = 'table' AND name = 'pets';
PRAGMA writable_schema = RESET;
