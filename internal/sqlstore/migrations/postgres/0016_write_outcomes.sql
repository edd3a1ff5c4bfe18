-- Nodes of version 1.1 and earlier insert a row into commits with every write. They look at the schema only when they
-- start. Under its new name, they do not find the table, so their writes fail instead of missing the new tables.
ALTER TABLE commits RENAME TO write_outcomes;
