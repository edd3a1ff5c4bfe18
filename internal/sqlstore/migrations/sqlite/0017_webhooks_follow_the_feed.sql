-- A webhook follows the feed: every event up to its position has been attempted. One node at a time sends to it.
ALTER TABLE webhooks ADD COLUMN leased_until INTEGER;                -- none: no node sends to it
ALTER TABLE webhooks ADD COLUMN accepted_at  INTEGER;                -- none: it has accepted nothing since it was enabled
ALTER TABLE webhooks ADD COLUMN failures     TEXT NOT NULL DEFAULT ''; -- the times of the last failed attempts since then
ALTER TABLE webhooks ADD COLUMN probe_at     INTEGER;                -- none: it is not down

-- A delivery has its own message. Only one that was accepted at once has none: it is made from the event again.
UPDATE webhook_deliveries
SET body = (SELECT b.body FROM message_bodies b WHERE b.message_id = webhook_deliveries.message_id)
WHERE body = '' AND EXISTS (SELECT 1 FROM message_bodies b WHERE b.message_id = webhook_deliveries.message_id)
    AND (status <> 'succeeded' OR NOT EXISTS (SELECT 1 FROM events WHERE events.id = CAST(webhook_deliveries.event_id AS INTEGER)));

DROP TABLE message_bodies;
ALTER TABLE webhook_deliveries DROP COLUMN claimed_until;
