-- The day on which an animal will be picked up (YYYY-MM-DD), and its price when it was ordered.
ALTER TABLE orders ADD COLUMN pickup_date TEXT;
ALTER TABLE orders ADD COLUMN price TEXT;
ALTER TABLE orders ADD COLUMN currency TEXT;

CREATE INDEX orders_pickup      ON orders (pickup_date, id) WHERE pickup_date IS NOT NULL;
CREATE INDEX orders_pickup_open ON orders (pickup_date, id) WHERE status IN ('placed', 'approved');
