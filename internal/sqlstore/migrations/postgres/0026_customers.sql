-- The customer of an order: name, phone and e-mail address, each on a line of its own. This is also the text that is searched. Its words
-- are in an index of their own, so that a search without the scope customers does not read them.
ALTER TABLE orders ADD COLUMN customer TEXT;
CREATE INDEX orders_customer_closed ON orders (changed_at) WHERE customer IS NOT NULL AND status IN ('delivered', 'cancelled', 'expired');

CREATE TABLE customer_search (
    gram  BIGINT NOT NULL,
    block BIGINT NOT NULL,
    ids   BYTEA  NOT NULL,
    PRIMARY KEY (gram, block)
);

CREATE TABLE customer_search_changes (
    id       BIGINT NOT NULL,
    seq      BIGINT NOT NULL DEFAULT CAST(random() * 100000000000000 AS BIGINT) + 1,
    previous TEXT,
    xid      xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (id, seq)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX customer_search_changes_xid ON customer_search_changes (xid);

CREATE FUNCTION customer_search_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO customer_search_changes (id) VALUES (NEW.id);
    ELSE
        INSERT INTO customer_search_changes (id, previous) VALUES (OLD.id, OLD.customer);
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER customer_search_insert AFTER INSERT ON orders
    FOR EACH ROW WHEN (NEW.customer IS NOT NULL) EXECUTE FUNCTION customer_search_changed();
CREATE TRIGGER customer_search_update AFTER UPDATE OF customer ON orders
    FOR EACH ROW WHEN (OLD.customer IS DISTINCT FROM NEW.customer) EXECUTE FUNCTION customer_search_changed();
CREATE TRIGGER customer_search_delete AFTER DELETE ON orders
    FOR EACH ROW WHEN (OLD.customer IS NOT NULL) EXECUTE FUNCTION customer_search_changed();

INSERT INTO search_progress (list, position, last) VALUES ('orders, customers', 0, 0);

-- Keys of people who sell animals may see who has ordered them.
UPDATE keys SET scopes = scopes || ' customers'
WHERE ' ' || scopes || ' ' LIKE '% pets:write %' AND ' ' || scopes || ' ' LIKE '% orders:write %';
