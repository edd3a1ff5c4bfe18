-- The customer of an order: name, phone and e-mail address, each on a line of its own. This is also the text that is searched. Its words
-- are in an index of their own, so that a search without the scope customers does not read them.
ALTER TABLE orders ADD COLUMN customer TEXT;
CREATE INDEX orders_customer_closed ON orders (changed_at) WHERE customer IS NOT NULL AND status IN ('delivered', 'cancelled', 'expired');

CREATE TABLE customer_search (
    gram  INTEGER NOT NULL,
    block INTEGER NOT NULL,
    ids   BLOB    NOT NULL,
    PRIMARY KEY (gram, block)
) STRICT, WITHOUT ROWID;

CREATE TABLE customer_search_changes (
    id       INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    previous TEXT,
    PRIMARY KEY (id, seq)
) STRICT, WITHOUT ROWID;

-- Customers are written in any order, so none waits because it follows position: each is queued when it is written.
INSERT INTO search_progress (list, position, last) VALUES ('orders, customers', 9223372036854775806, 9223372036854775807);

CREATE TRIGGER customer_search_insert AFTER INSERT ON orders WHEN new.customer IS NOT NULL BEGIN
    INSERT INTO customer_search_changes (id, seq)
    VALUES (new.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM customer_search_changes WHERE id = new.id));
END;

CREATE TRIGGER customer_search_update AFTER UPDATE OF customer ON orders WHEN old.customer IS NOT new.customer BEGIN
    INSERT INTO customer_search_changes (id, seq, previous)
    VALUES (old.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM customer_search_changes WHERE id = old.id), old.customer);
END;

CREATE TRIGGER customer_search_delete AFTER DELETE ON orders WHEN old.customer IS NOT NULL BEGIN
    INSERT INTO customer_search_changes (id, seq, previous)
    VALUES (old.id, (SELECT coalesce(max(seq), random() & 0x3fffffffffffffff) + 1 FROM customer_search_changes WHERE id = old.id), old.customer);
END;

-- Keys of people who sell animals may see who has ordered them.
UPDATE keys SET scopes = scopes || ' customers'
WHERE ' ' || scopes || ' ' LIKE '% pets:write %' AND ' ' || scopes || ' ' LIKE '% orders:write %';
