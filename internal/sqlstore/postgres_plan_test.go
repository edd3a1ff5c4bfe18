package sqlstore

import (
	"fmt"
	"strings"
	"testing"

	"animalstore/internal/shop"
)

// Every page is read through an index, so it costs the same wherever it is in the list. The planner does not
// know that rows with the same status are often next to each other. In this test, the newest animals are
// available, and most of the older ones are sold.
func TestEveryPageOnPostgresUsesAnIndex(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	open(t, database, Options{})
	db := openDirect(t, database)
	for _, statement := range []string{
		"INSERT INTO categories (id) SELECT n FROM generate_series(0, 9) AS n",
		`INSERT INTO pets (name, name_folded, category_id, status) SELECT 'Rex', 'rex', n % 7 % 3,
			CASE WHEN n > 20000 THEN 'available' WHEN n % 5 = 0 THEN 'pending' ELSE 'sold' END FROM generate_series(1, 30000) AS n`,
		`INSERT INTO orders (pet_id, status, created_at, updated_at) SELECT n % 7,
			CASE WHEN n > 20000 OR n % 5 = 0 THEN 'delivered' ELSE 'cancelled' END, 0, 0 FROM generate_series(1, 30000) AS n`,
		`INSERT INTO events (at, type, subject, actor, data) SELECT 0, CASE WHEN n < 20000 THEN 'pet.created' WHEN n < 20100 THEN 'pet.deleted'
			ELSE 'pet.updated' END, 'pets/' || n % 100, 'system', '{}' FROM generate_series(1, 30000) AS n`,
		`INSERT INTO deliveries (webhook_id, message_id, event_type, status, attempts, created_at, body) SELECT CASE WHEN n < 20000 THEN 1 ELSE 2 END,
			'm', 'pet.created', CASE WHEN n < 10000 THEN 'failed' ELSE 'succeeded' END, '[]', 0, '{}' FROM generate_series(1, 30000) AS n`,
		"ANALYZE",
	} {
		exec(t, db, statement)
	}
	expect := func(name, query string, args []any) {
		t.Helper()
		rows, err := db.QueryContext(t.Context(), "EXPLAIN ANALYZE "+query, args...)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var plan strings.Builder
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				t.Fatal(err)
			}
			plan.WriteString(line + "\n")
		}
		for _, bad := range []string{"Sort", "Seq Scan", "Removed by Filter"} {
			if bad == "Sort" && strings.HasPrefix(query, "SELECT * FROM (") {
				continue // the query merges a few short pages, one for each event type
			}
			if strings.Contains(plan.String(), bad) {
				t.Errorf("%s:\n%s\n%s", name, query, plan.String())
				return
			}
		}
	}
	d, one := postgresDialect(nil), new(int64(1))
	for page, from := range map[string]*int64{"first": nil, "later": new(int64(20_050)), "last": new(int64(29_990))} {
		window := shop.PageRequest{Limit: 21, After: from}
		for name, filter := range map[string]shop.EventFilter{
			"all": {}, "type": {Types: []shop.EventType{shop.PetDeleted}}, "types": {Types: []shop.EventType{shop.PetDeleted, shop.PetCreated}},
			"subject": {Subject: "pets/1"},
		} {
			query, args := eventsQuery(d, filter, window)
			expect("events, "+name+", "+page, query, args)
		}
		for _, status := range []shop.DeliveryStatus{"", shop.DeliveryFailed} {
			for hook := range int64(3) {
				query, args := deliveriesQuery(d, shop.DeliveryList{WebhookID: hook, Status: status, PageRequest: window})
				expect(fmt.Sprintf("deliveries to %d, %s, %s", hook, status, page), query, args)
			}
		}
	}
	for page, from := range map[string]*int64{"first": nil, "later": new(int64(29_000))} {
		window := shop.PageRequest{Limit: 21, After: from}
		for name, filter := range map[string]shop.PetFilter{
			"all": {}, "status": {Status: shop.Sold}, "category": {CategoryID: one}, "status and category": {Status: shop.Sold, CategoryID: one},
		} {
			query, args := petsQuery(d, shop.PetList{PetFilter: filter, PageRequest: window})
			expect("animals, "+name+", "+page, query, args)
		}
		for name, list := range map[string]shop.OrderList{
			"all": {}, "status": {Status: shop.Cancelled}, "pet": {PetID: one}, "status and pet": {Status: shop.Cancelled, PetID: one},
		} {
			list.PageRequest = window
			query, args := ordersQuery(d, list)
			expect("orders, "+name+", "+page, query, args)
		}
	}
}
