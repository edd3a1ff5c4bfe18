-- The bodies of messages, each once for all webhooks that get the message. A delivery with an empty body has its body here. The
-- body is removed together with the last delivery.
CREATE TABLE message_bodies (
    message_id    TEXT   PRIMARY KEY,
    body          TEXT   NOT NULL,
    last_delivery BIGINT NOT NULL
);

CREATE INDEX message_bodies_last ON message_bodies (last_delivery);

-- Only the node that holds the one row turns events into deliveries, for all webhooks at once.
CREATE TABLE fanout_turn (one BIGINT PRIMARY KEY);

INSERT INTO fanout_turn (one) VALUES (1);

-- Nodes of version 1.0 read a body in each delivery, and find one in the view that has the old name.
ALTER TABLE deliveries RENAME TO webhook_deliveries;
ALTER SEQUENCE deliveries_id_seq RENAME TO webhook_deliveries_id_seq;
ALTER TABLE webhook_deliveries SET (fillfactor = 80);

CREATE VIEW deliveries AS
    SELECT id, webhook_id, message_id, event_id, event_type, status, attempts, created_at, next_at,
        CASE WHEN body <> '' THEN body
            ELSE coalesce((SELECT b.body FROM message_bodies b WHERE b.message_id = d.message_id), '') END AS body,
        claimed_until
    FROM webhook_deliveries d;

CREATE FUNCTION deliveries_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO webhook_deliveries (webhook_id, message_id, event_id, event_type, status, attempts, created_at, next_at, body, claimed_until)
    VALUES (NEW.webhook_id, NEW.message_id, NEW.event_id, NEW.event_type, NEW.status, NEW.attempts, NEW.created_at, NEW.next_at, NEW.body,
        NEW.claimed_until)
    RETURNING id INTO NEW.id;
    RETURN NEW;
END $$;

CREATE TRIGGER deliveries_insert INSTEAD OF INSERT ON deliveries
    FOR EACH ROW EXECUTE FUNCTION deliveries_insert();

-- The next ones of a webhook are read from the index in order, however many have the same time.
DROP INDEX deliveries_due;
CREATE INDEX deliveries_due ON webhook_deliveries (webhook_id, next_at, id) WHERE next_at IS NOT NULL;

-- Those of webhooks that do not exist any more are never due.
UPDATE webhook_deliveries SET next_at = NULL WHERE next_at IS NOT NULL AND webhook_id NOT IN (SELECT id FROM webhooks);
