-- How many animals there are in each category that has any, after the event at the position of pet_count_progress. The events that
-- follow it, and those in the inbox, say what has changed since. Writes do not touch these tables: a job adds the events from time
-- to time. So counts are also right while nodes of an earlier version write.
CREATE TABLE pet_counts (
    category_id BIGINT PRIMARY KEY,
    total       BIGINT NOT NULL,
    available   BIGINT NOT NULL,
    pending     BIGINT NOT NULL,
    sold        BIGINT NOT NULL,
    unspecified BIGINT NOT NULL
);

CREATE INDEX pet_counts_total ON pet_counts (total DESC, category_id);

CREATE TABLE pet_count_progress (
    one      BIGINT PRIMARY KEY CHECK (one = 1),
    position BIGINT NOT NULL
);

-- In one statement, because nodes of an earlier version may write meanwhile: one snapshot has the animals, the events, and the
-- inbox, whose changes are in the animals but not among the events.
WITH waiting AS (
    SELECT CAST(data AS jsonb) AS data FROM event_inbox WHERE type LIKE 'pet.%'
), states AS (
    SELECT category_id, coalesce(status, '') AS status, count(*) AS n FROM pets GROUP BY 1, 2
    UNION ALL
    SELECT CAST(data -> 'current' ->> 'categoryId' AS BIGINT), coalesce(data -> 'current' ->> 'status', ''), -1
    FROM waiting WHERE data -> 'current' <> 'null'
    UNION ALL
    SELECT CAST(data -> 'previous' ->> 'categoryId' AS BIGINT), coalesce(data -> 'previous' ->> 'status', ''), 1
    FROM waiting WHERE data -> 'previous' <> 'null'
), counted AS (
    INSERT INTO pet_counts (category_id, total, available, pending, sold, unspecified)
    SELECT category_id, sum(n), coalesce(sum(n) FILTER (WHERE status = 'available'), 0),
        coalesce(sum(n) FILTER (WHERE status = 'pending'), 0), coalesce(sum(n) FILTER (WHERE status = 'sold'), 0),
        coalesce(sum(n) FILTER (WHERE status = ''), 0)
    FROM states GROUP BY category_id
)
INSERT INTO pet_count_progress (one, position) SELECT 1, coalesce(max(id), 0) FROM events;
