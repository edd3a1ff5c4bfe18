-- The table has the name that the code uses.
ALTER TABLE kept_answers RENAME TO idempotency_records;
ALTER INDEX kept_answers_pkey RENAME TO idempotency_records_pkey;
ALTER INDEX kept_answers_time RENAME TO idempotency_records_time;
