-- How many animals there are in each category that has any, after the event at the position of pet_count_progress. The events that
-- follow it say what has changed since. Writes do not touch these tables: a job adds the events from time to time.
CREATE TABLE pet_counts (
    category_id INTEGER PRIMARY KEY,
    total       INTEGER NOT NULL,
    available   INTEGER NOT NULL,
    pending     INTEGER NOT NULL,
    sold        INTEGER NOT NULL,
    unspecified INTEGER NOT NULL
) STRICT;

CREATE INDEX pet_counts_total ON pet_counts (total DESC, category_id);

CREATE TABLE pet_count_progress (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    position INTEGER NOT NULL
) STRICT;

INSERT INTO pet_counts (category_id, total, available, pending, sold, unspecified)
SELECT category_id, count(*), count(CASE WHEN status = 'available' THEN 1 END), count(CASE WHEN status = 'pending' THEN 1 END),
    count(CASE WHEN status = 'sold' THEN 1 END), count(CASE WHEN status IS NULL THEN 1 END)
FROM pets GROUP BY category_id;

INSERT INTO pet_count_progress (one, position) SELECT 1, coalesce(max(id), 0) FROM events;
