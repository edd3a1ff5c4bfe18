-- A pair of id and seq is never used again, even if a server that takes over has lost the last changes. So a node can remember by it what
-- it has read. The seqs stay so small that the sum of a row's seqs fits into a BIGINT.
ALTER TABLE pet_search_changes ALTER COLUMN seq DROP IDENTITY;
ALTER TABLE pet_search_changes ALTER COLUMN seq SET DEFAULT CAST(random() * 100000000000000 AS BIGINT) + 1;
ALTER TABLE order_search_changes ALTER COLUMN seq DROP IDENTITY;
ALTER TABLE order_search_changes ALTER COLUMN seq SET DEFAULT CAST(random() * 100000000000000 AS BIGINT) + 1;
ALTER TABLE profile_search_changes ALTER COLUMN seq DROP IDENTITY;
ALTER TABLE profile_search_changes ALTER COLUMN seq SET DEFAULT CAST(random() * 100000000000000 AS BIGINT) + 1;
ALTER TABLE internal_search_changes ALTER COLUMN seq DROP IDENTITY;
ALTER TABLE internal_search_changes ALTER COLUMN seq SET DEFAULT CAST(random() * 100000000000000 AS BIGINT) + 1;
