-- What happened, in the order in which it is told: the feed, and the audit trail.
CREATE TABLE events (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL,
    type    TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    actor   TEXT    NOT NULL,
    data    TEXT    NOT NULL -- a JSON object
) STRICT;

CREATE INDEX events_type    ON events (type, id);
CREATE INDEX events_subject ON events (subject, id);

CREATE TABLE webhooks (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    url             TEXT    NOT NULL,
    types           TEXT    NOT NULL, -- separated by spaces; none: all
    enabled         INTEGER NOT NULL, -- 0 or 1
    disabled_reason TEXT,
    failing_since   INTEGER,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    position        INTEGER NOT NULL  -- the event up to which there are deliveries
) STRICT;

-- A table of its own: a webhook whose secret is being rotated has two for a while. They are kept as they are, to sign with.
CREATE TABLE webhook_secrets (
    webhook_id INTEGER NOT NULL REFERENCES webhooks (id),
    secret     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    ends_at    INTEGER, -- none: with the webhook
    PRIMARY KEY (webhook_id, secret)
) STRICT, WITHOUT ROWID;

-- The messages to send, and the log of those that were. They stay when the webhook is removed, until their time is over.
CREATE TABLE deliveries (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    webhook_id    INTEGER NOT NULL,
    message_id    TEXT    NOT NULL,
    event_id      TEXT,
    event_type    TEXT    NOT NULL,
    status        TEXT    NOT NULL CHECK (status IN ('pending', 'succeeded', 'failed')),
    attempts      TEXT    NOT NULL, -- a JSON array
    created_at    INTEGER NOT NULL,
    next_at       INTEGER, -- none: it is over, or waits until the webhook is enabled
    body          TEXT    NOT NULL,
    claimed_until INTEGER  -- none: nobody is trying it
) STRICT;

CREATE INDEX deliveries_due     ON deliveries (webhook_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_webhook ON deliveries (webhook_id, id);
CREATE INDEX deliveries_status  ON deliveries (webhook_id, status, id);
