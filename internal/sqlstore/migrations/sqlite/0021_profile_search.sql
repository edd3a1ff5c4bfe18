-- The words of a profile that every key may search, and those that only keys with pets:write may. The profile of a removed animal has
-- none. They are in two indexes, so that a search does not read what its key may not see.
ALTER TABLE profiles ADD COLUMN words TEXT AS (CASE removed WHEN 0 THEN nullif(coalesce(breed || ' ', '') || coalesce(second_breed || ' ', '') ||
    coalesce(color || ' ', '') || coalesce(tags, ''), '') END);
ALTER TABLE profiles ADD COLUMN internal_words TEXT AS (CASE removed WHEN 0 THEN nullif(coalesce(microchip || ' ', '') || coalesce(location, ''), '') END);

CREATE TABLE profile_search (
    gram  INTEGER NOT NULL,
    block INTEGER NOT NULL,
    ids   BLOB    NOT NULL,
    PRIMARY KEY (gram, block)
) STRICT, WITHOUT ROWID;

CREATE TABLE internal_search (
    gram  INTEGER NOT NULL,
    block INTEGER NOT NULL,
    ids   BLOB    NOT NULL,
    PRIMARY KEY (gram, block)
) STRICT, WITHOUT ROWID;

CREATE TABLE profile_search_changes (
    id       INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    previous TEXT,
    PRIMARY KEY (id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE internal_search_changes (
    id       INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    previous TEXT,
    PRIMARY KEY (id, seq)
) STRICT, WITHOUT ROWID;

-- Profiles are written in any order, so none waits because it follows position: each is queued when it is written.
INSERT INTO search_progress (list, position, last) VALUES
    ('profiles', 9223372036854775806, 9223372036854775807), ('profiles, internal', 9223372036854775806, 9223372036854775807);

CREATE TRIGGER profile_search_insert AFTER INSERT ON profiles WHEN new.words IS NOT NULL BEGIN
    INSERT INTO profile_search_changes (id, seq)
    VALUES (new.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM profile_search_changes WHERE id = new.id));
END;

CREATE TRIGGER profile_search_update AFTER UPDATE ON profiles WHEN old.words IS NOT new.words BEGIN
    INSERT INTO profile_search_changes (id, seq, previous)
    VALUES (old.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM profile_search_changes WHERE id = old.id), old.words);
END;

CREATE TRIGGER profile_search_delete AFTER DELETE ON profiles WHEN old.words IS NOT NULL BEGIN
    INSERT INTO profile_search_changes (id, seq, previous)
    VALUES (old.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM profile_search_changes WHERE id = old.id), old.words);
END;

CREATE TRIGGER internal_search_insert AFTER INSERT ON profiles WHEN new.internal_words IS NOT NULL BEGIN
    INSERT INTO internal_search_changes (id, seq)
    VALUES (new.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM internal_search_changes WHERE id = new.id));
END;

CREATE TRIGGER internal_search_update AFTER UPDATE ON profiles WHEN old.internal_words IS NOT new.internal_words BEGIN
    INSERT INTO internal_search_changes (id, seq, previous)
    VALUES (old.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM internal_search_changes WHERE id = old.id), old.internal_words);
END;

CREATE TRIGGER internal_search_delete AFTER DELETE ON profiles WHEN old.internal_words IS NOT NULL BEGIN
    INSERT INTO internal_search_changes (id, seq, previous)
    VALUES (old.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM internal_search_changes WHERE id = old.id), old.internal_words);
END;
