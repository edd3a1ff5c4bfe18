package plans

import (
	"fmt"
	"testing"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
	"animalstore/internal/sqlstore"
)

// fill fills a store with n animals, as in a large shop. Most of the older animals are sold, and the newest ones are
// available. Every second animal has a profile, and every tenth a photo. Every animal and every order has its event. A
// fifth of the animals were created with an idempotency key. The store's own jobs build the search index and the summaries of events.
func fill(t *testing.T, db *pgtest.DB, store *sqlstore.Store, n int) {
	t.Helper()
	const triggers = "pets %[1]s TRIGGER pet_search_insert; ALTER TABLE orders %[1]s TRIGGER order_search_insert; " +
		"ALTER TABLE profiles %[1]s TRIGGER profile_search_insert; ALTER TABLE profiles %[1]s TRIGGER internal_search_insert"
	db.Do(
		"ALTER TABLE "+fmt.Sprintf(triggers, "DISABLE"),
		fmt.Sprintf("INSERT INTO categories (id, name) SELECT n, 'Category ' || n FROM generate_series(1, %d) AS n", categories(n)),
		fmt.Sprintf(`INSERT INTO pets (name, category_id, status)
			SELECT name, 1 + n %% %[2]d,
				CASE WHEN n > %[1]d * 0.8 THEN 'available' WHEN n %% 50 = 0 THEN 'pending' WHEN n %% 99 = 0 THEN NULL ELSE 'sold' END
			FROM (SELECT n, (ARRAY['Rex', 'Bella', 'Zoë', 'Hazel', 'Mia', 'Bo', 'Luna', 'Max', 'Kitty', 'Odin', 'Nala'])[1 + n %% 11] || ' ' ||
				(ARRAY['Bengal', 'Siamese', 'Poodle', 'Collie', 'Parrot', 'Gecko', 'Tortoise'])[1 + n / 11 %% 7] || ' ' || n AS name
				FROM generate_series(1, %[1]d) AS n) AS named`, n, categories(n)),
		`INSERT INTO profiles (id, published, breed, sex, size, color, tags, location, updated_at, description, birth_date, price, currency, photos)
			SELECT id, CASE WHEN status = 'available' THEN 1 ELSE 0 END, (ARRAY['Beagle', 'Siamese', 'Poodle', 'Collie', 'Gecko'])[1 + id % 5],
				(ARRAY['female', 'male', NULL])[1 + id % 3], (ARRAY['small', 'medium', 'large', 'extra-large', NULL])[1 + id / 3 % 5], 'brown', 'calm,Tag ' || id % 1000,
				'Room ' || id % 100, 1700000000000000, repeat('x', 300), '20' || 10 + id % 16 || '-0' || 1 + id % 9 || '-11', CASE WHEN id % 6 > 0 THEN id % 500 || '.00' END,
				CASE WHEN id % 6 > 0 THEN (ARRAY['EUR', 'USD'])[1 + id / 6 % 2] END,
				CASE WHEN id % 10 = 0 THEN id || ' ' || md5(id::text) || ' 1600 1200 3 1700000000000000 ' END
			FROM pets WHERE id % 2 = 0`,
		"INSERT INTO profile_tags (tag, id) SELECT 'CALM', id FROM profiles UNION ALL SELECT 'TAG ' || id % 1000, id FROM profiles",
		"UPDATE pets SET published = 1 FROM profiles WHERE profiles.id = pets.id AND profiles.published = 1",
		`INSERT INTO photo_files (name, size, pet_id, content)
			SELECT md5(id::text), file, id, 'x' FROM profiles, unnest(ARRAY['small', 'medium', 'large']) AS file WHERE photos IS NOT NULL`,
		"INSERT INTO settings (name, value) SELECT 'photo_bytes', count(*)::text FROM photo_files",
		"INSERT INTO settings (name, value) SELECT 'last_photo_id', max(id)::text FROM profiles",
		`INSERT INTO orders (pet_id, status, reference, pickup_date, created_at, updated_at, hold_expires_at)
			SELECT id, CASE WHEN status = 'pending' THEN 'placed' WHEN id % 7 = 0 THEN 'cancelled' WHEN id % 5 = 0 THEN 'expired' ELSE 'delivered' END,
				'customer ' || id, to_char(DATE '2026-11-17' - CAST(id % 400 AS INTEGER), 'YYYY-MM-DD'), 0, 0, CASE WHEN status = 'pending' THEN 4000000000000000 END
			FROM pets WHERE status IN ('pending', 'sold') AND id % 2 = 0`,
		`INSERT INTO events (at, type, subject, actor, data)
			SELECT CAST(extract(epoch FROM now()) * 1000000 AS BIGINT) - (SELECT max(id) FROM pets) + id, 'pet.created', 'pets/' || id, 'keys/' || 1 + id % 3,
				'{"current":{"id":' || id || ',"name":"' || name || '","categoryId":' || category_id || '},"previous":null}' FROM pets ORDER BY id`,
		`INSERT INTO events (at, type, subject, actor, data)
			SELECT CAST(extract(epoch FROM now()) * 1000000 AS BIGINT), 'order.placed', 'store/orders/' || id, 'system', '{"current":null,"previous":null}'
			FROM orders ORDER BY id`,
		`INSERT INTO idempotency_records (principal, key, fingerprint, status, header, body, kept_at)
			SELECT 1, 'key ' || id, '', 201, '{}', '{}', CAST(extract(epoch FROM now()) * 1000000 AS BIGINT) FROM pets WHERE id % 5 = 0`,
		"UPDATE pets SET name_key = upper(name)",
		"DELETE FROM inventory",
	)
	db.Do(sqlstore.CountPets...)
	db.Do(
		"UPDATE search_progress SET last = (SELECT max(id) FROM pets) WHERE list = 'pets'",
		"UPDATE search_progress SET last = (SELECT max(id) FROM orders) WHERE list LIKE 'orders%'",
		"UPDATE search_progress SET last = (SELECT max(id) FROM profiles) WHERE list LIKE 'profiles%'",
		"ALTER TABLE "+fmt.Sprintf(triggers, "ENABLE"),
	)
	for _, job := range []func() error{
		func() error { return shoptest.IndexSearch(t.Context(), store) },
		func() error { return shoptest.SummarizeEvents(t.Context(), store) },
	} {
		if err := job(); err != nil {
			t.Fatal(err)
		}
	}
	db.Do("VACUUM ANALYZE")
}

// categories returns the number of categories in a store with n animals.
func categories(n int) int { return max(20, n/1000) }

// newService opens the service whose SQL statements the test examines. Its API key comes from the configuration and
// is not in the store.
func newService(t *testing.T, store *sqlstore.Store) *shop.Service {
	t.Helper()
	return shoptest.Must(shop.Open(t.Context(), store, shop.Options{
		Environment: shop.Production, ConfiguredKey: shoptest.AdminKey, EventRetention: 1000 * shop.DefaultOrderHold,
	}))(t)
}
