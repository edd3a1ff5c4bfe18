-- A webhook follows the feed: every event up to its position has been attempted. One node at a time sends to it.
ALTER TABLE webhooks ADD COLUMN leased_until BIGINT;                 -- none: no node sends to it
ALTER TABLE webhooks ADD COLUMN accepted_at  BIGINT;                 -- none: it has accepted nothing since it was enabled
ALTER TABLE webhooks ADD COLUMN failures     TEXT NOT NULL DEFAULT ''; -- the times of the last failed attempts since then
ALTER TABLE webhooks ADD COLUMN probe_at     BIGINT;                 -- none: it is not down

-- The view that nodes of version 1.0 used.
DROP TRIGGER deliveries_insert ON deliveries;
DROP VIEW deliveries;
DROP FUNCTION deliveries_insert();

-- A delivery has its own message. Only one that was accepted at once has none: it is made from the event again.
UPDATE webhook_deliveries d SET body = b.body FROM message_bodies b
WHERE b.message_id = d.message_id AND d.body = ''
    AND (d.status <> 'succeeded' OR NOT EXISTS (SELECT FROM events WHERE events.id = CAST(d.event_id AS BIGINT)));

DROP INDEX message_bodies_last;
DROP TABLE message_bodies;
DROP TABLE fanout_turn;
ALTER TABLE webhook_deliveries DROP COLUMN claimed_until;
