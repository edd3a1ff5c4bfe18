-- The table has the name that the code uses.
ALTER TABLE kept_answers RENAME TO idempotency_records;
DROP INDEX kept_answers_time;
CREATE INDEX idempotency_records_time ON idempotency_records (kept_at);
