-- The numbers of animals are written in the transaction that changes an animal: all animals in the one row of inventory, those of each
-- category that has any in pet_counts. They were counted from events before.
DROP TABLE pet_count_progress;
DROP TABLE inventory;

CREATE TABLE inventory (
    one         INTEGER PRIMARY KEY CHECK (one = 1),
    available   INTEGER NOT NULL,
    pending     INTEGER NOT NULL,
    sold        INTEGER NOT NULL,
    unspecified INTEGER NOT NULL
) STRICT;

DELETE FROM pet_counts;
INSERT INTO pet_counts (category_id, total, available, pending, sold, unspecified)
SELECT category_id, count(*), count(CASE WHEN status = 'available' THEN 1 END), count(CASE WHEN status = 'pending' THEN 1 END),
    count(CASE WHEN status = 'sold' THEN 1 END), count(CASE WHEN status IS NULL THEN 1 END)
FROM pets GROUP BY category_id;

INSERT INTO inventory (one, available, pending, sold, unspecified)
SELECT 1, coalesce(sum(available), 0), coalesce(sum(pending), 0), coalesce(sum(sold), 0), coalesce(sum(unspecified), 0) FROM pet_counts;

-- The arrivals and sales in each quarter of an hour that has any. Those from before come from the events of the last month, two
-- million at most.
CREATE TABLE pet_periods (
    begins_at INTEGER PRIMARY KEY,
    arrivals  INTEGER NOT NULL,
    sales     INTEGER NOT NULL
) STRICT;

INSERT INTO pet_periods (begins_at, arrivals, sales)
SELECT begins_at, sum(arrival), sum(sale) FROM (
    SELECT at - at % 900000000 AS begins_at, type = 'pet.created' AS arrival,
        CASE WHEN type = 'pet.updated' AND json_valid(data)
            THEN data ->> '$.current.status' IS 'sold' AND data ->> '$.previous.status' IS NOT 'sold' ELSE 0 END AS sale
    FROM events WHERE id > (SELECT max(id) FROM events) - 2000000 AND at >= (unixepoch() - 32 * 86400) * 1000000
) WHERE arrival OR sale GROUP BY begins_at;
