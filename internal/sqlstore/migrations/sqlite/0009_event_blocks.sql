-- What each thousand successive events have in common, so that a reader skips those that cannot match its filter: the events with
-- after_id < id <= last_id have a time from earliest to latest, and one of the actors. It can be made again from the events.
CREATE TABLE event_blocks (
    last_id  INTEGER PRIMARY KEY,
    after_id INTEGER NOT NULL,
    earliest INTEGER NOT NULL,
    latest   INTEGER NOT NULL,
    actors   TEXT    NOT NULL -- with a space before and after each; none: too many
) STRICT;
