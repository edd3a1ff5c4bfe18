-- How often the status of an animal has changed since it was added or restored. It tells whether the status has changed since an order's did.
ALTER TABLE pets ADD COLUMN status_changes BIGINT NOT NULL DEFAULT 0;

-- The last change of an order's status, for an undo: its time, the status and the end of the hold before it, status_changes of the animal
-- after it, and whether it was an undo itself. It is missing if the status has not changed yet or was last changed by version 1.1.
-- pet_status_changes is -1 if the animal was removed and its status had been changed again before.
ALTER TABLE orders ADD COLUMN changed_at BIGINT;
ALTER TABLE orders ADD COLUMN status_before TEXT;
ALTER TABLE orders ADD COLUMN hold_before BIGINT;
ALTER TABLE orders ADD COLUMN pet_status_changes BIGINT;
ALTER TABLE orders ADD COLUMN is_undo BIGINT NOT NULL DEFAULT 0;
