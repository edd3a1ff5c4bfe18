-- As for the inbox of events.
ALTER TABLE pet_search_changes ADD COLUMN xid xid8;
ALTER TABLE pet_search_changes ALTER COLUMN xid SET DEFAULT pg_current_xact_id();
UPDATE pet_search_changes SET xid = pg_current_xact_id();
ALTER TABLE pet_search_changes ALTER COLUMN xid SET NOT NULL;
CREATE INDEX pet_search_changes_xid ON pet_search_changes (xid);

ALTER TABLE order_search_changes ADD COLUMN xid xid8;
ALTER TABLE order_search_changes ALTER COLUMN xid SET DEFAULT pg_current_xact_id();
UPDATE order_search_changes SET xid = pg_current_xact_id();
ALTER TABLE order_search_changes ALTER COLUMN xid SET NOT NULL;
CREATE INDEX order_search_changes_xid ON order_search_changes (xid);

-- In large tables, a fifth of the rows are millions. These are vacuumed after every fiftieth row that was changed or added, so that
-- the space of removed rows is used again and index-only scans need not read the rows.
ALTER TABLE events SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);
ALTER TABLE kept_answers SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);
ALTER TABLE orders SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);
ALTER TABLE pets SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);
