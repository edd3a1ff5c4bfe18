-- As for the inbox of events. It is a migration of its own, because writes use the two tables in different orders.
ALTER TABLE inventory_changes ADD COLUMN xid xid8;
ALTER TABLE inventory_changes ALTER COLUMN xid SET DEFAULT pg_current_xact_id();
UPDATE inventory_changes SET xid = pg_current_xact_id();
ALTER TABLE inventory_changes ALTER COLUMN xid SET NOT NULL,
    SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX inventory_changes_xid ON inventory_changes (xid);
