-- The bodies of messages, each once for all webhooks that get the message. A delivery with an empty body has its body here. The
-- body is removed together with the last delivery.
CREATE TABLE message_bodies (
    message_id    TEXT    PRIMARY KEY,
    body          TEXT    NOT NULL,
    last_delivery INTEGER NOT NULL
) STRICT;

CREATE INDEX message_bodies_last ON message_bodies (last_delivery);

-- On PostgreSQL, the old name is that of a view for nodes of version 1.0.
ALTER TABLE deliveries RENAME TO webhook_deliveries;

-- Those of webhooks that do not exist any more are never due.
UPDATE webhook_deliveries SET next_at = NULL WHERE next_at IS NOT NULL AND webhook_id NOT IN (SELECT id FROM webhooks);
