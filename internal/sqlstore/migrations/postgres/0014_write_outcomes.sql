-- Nodes of version 1.1 and earlier insert a row into commits with every write. They look at the schema only when they
-- start. Under its new name, they do not find the table, so their writes fail instead of missing the new tables. This
-- is the first migration of version 1.2, because each migration is committed by itself: after this one, nothing that the
-- following ones count or move can change any more.
ALTER TABLE commits RENAME TO write_outcomes;
