package sqlstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
)

type pageQuery struct {
	text string
	args []any
}

func newPageQuery(text string, args []any) pageQuery { return pageQuery{text, args} }

// pageQueries returns the queries for one page of each list, with every filter for which there is an index. The keys
// of the map begin with the name of the table.
func pageQueries(d *dialect, page shop.PageRequest) map[string]pageQuery {
	queries, one := map[string]pageQuery{}, new(int64(1))
	for name, filter := range map[string]shop.PetFilter{
		"all": {}, "status": {Status: shop.Sold}, "category": {CategoryID: one},
		"status and category": {Status: shop.Sold, CategoryID: one},
		"no status":           {NoStatus: true}, "no status and category": {NoStatus: true, CategoryID: one},
	} {
		queries["pets by "+name] = newPageQuery(petsQuery(d, petColumns, shop.PetList{PetFilter: filter, PageRequest: page}))
		queries["pets by "+name+", oldest first"] = newPageQuery(petsQuery(d, petColumns, shop.PetList{PetFilter: filter, PageRequest: page, OldestFirst: true}))
	}
	queries["pets sorted by name"] = newPageQuery(keyedProfilesQuery(d, shop.ProfileList{Order: shop.ByName, PageRequest: page}, shop.KeyRange{}))
	for name, list := range map[string]shop.OrderList{
		"all": {}, "status": {Status: shop.Cancelled}, "pet": {PetID: one}, "status and pet": {Status: shop.Cancelled, PetID: one},
		"day of pick-up": {PickupDate: "2026-11-17"}, "status and day of pick-up": {PickupDate: "2026-11-17", Status: shop.Cancelled},
	} {
		list.PageRequest = page
		queries["orders by "+name] = newPageQuery(ordersQuery(d, list))
		list.OldestFirst = true
		queries["orders by "+name+", oldest first"] = newPageQuery(ordersQuery(d, list))
	}
	for name, filter := range map[string]shop.EventFilter{
		"all": {}, "type": {Types: []shop.EventType{shop.PetDeleted}}, "subject": {Subjects: []string{"pets/1"}},
		"subjects": {Subjects: []string{"pets/1", "store/orders/2"}},
		"types":    {Types: []shop.EventType{shop.PetDeleted, shop.PetCreated}},
	} {
		queries["events by "+name] = newPageQuery(eventsQuery(d, filter, page))
	}
	after, at := int64(0), time.UnixMicro(25_000).UTC()
	if page.After != nil {
		after = *page.After
	}
	for name, filter := range map[string]shop.EventFilter{
		"since": {Since: at}, "until": {Until: at}, "actor": {Actor: "keys/7"}, "all of them": {Since: at, Until: at.Add(time.Second), Actor: "keys/7"},
	} {
		queries["event_blocks by "+name] = newPageQuery(blocksQuery(filter, after))
		queries["event_blocks by "+name+", newest first"] = newPageQuery(newerBlocksQuery(filter, after))
	}
	approvable := shop.OrderList{Status: shop.Placed, HoldFrom: at.Add(2500 * time.Second), PageRequest: page, OldestFirst: true}
	queries["orders to approve"] = newPageQuery(ordersQuery(d, approvable))
	queries["orders by the end of their hold"] = newPageQuery(holdsQuery(d, at, at.Add(time.Hour), page.Limit))
	queries["orders to hand over"] = newPageQuery(pickupsQuery(d, "2026-11-17", "2026-11-18", page.Limit))
	queries["orders to hand over without a day"] = newPageQuery(pickupsQuery(d, "", "", page.Limit))
	queries["orders closed with a customer"] = newPageQuery(closedQuery(d, at))
	for _, status := range []shop.DeliveryStatus{"", shop.DeliveryFailed} {
		for hook := range int64(3) {
			list := shop.DeliveryList{WebhookID: hook, Status: status, PageRequest: page}
			queries[fmt.Sprintf("webhook_deliveries to %d, %s", hook, status)] = newPageQuery(deliveriesQuery(d, list))
		}
	}
	return queries
}

// Every page costs the same, wherever it is in the list. Each query seeks in an index that already has the order of the
// list, so SQLite does not sort any rows.
func TestEveryPageSeeksInAnIndex(t *testing.T) {
	t.Parallel()
	store, d := openNew(t), sqliteDialect(nil)
	addPets(t, store, 300)
	for _, after := range []*int64{nil, new(int64(150))} {
		page := shop.PageRequest{Limit: 21, After: after}
		queries := pageQueries(d, page)
		for _, status := range []shop.Status{"", shop.Sold} {
			filter := shop.PetFilter{Status: status, IDs: []int64{3, 1, 2}}
			queries["pets by ids "+string(status)] = newPageQuery(petsQuery(d, petColumns, shop.PetList{PetFilter: filter, PageRequest: page}))
		}
		queries["pets by all without keys"] = newPageQuery(unkeyedPetsQuery(d, shop.ProfileList{PageRequest: page}))
		for _, order := range shop.ProfileOrders()[3:] {
			for i, part := range []shop.KeyRange{{}, {Low: "EUR", High: "EUR~"}} {
				list := shop.ProfileList{Order: order, PageRequest: page}
				list.AfterKey = "EUR000000009.0000"
				queries[fmt.Sprintf("profiles sorted by %s, part %d", order, i)] = newPageQuery(keyedProfilesQuery(d, list, part))
			}
		}
		filter := shop.EventFilter{Subjects: []string{"pets/1"}, Types: shop.EventTypes()}
		queries["events by subject and types"] = newPageQuery(eventsQuery(d, filter, page))
		for name, query := range queries {
			table := strings.Fields(name)[0]
			plan := explain(t, store, query)
			// The first page of an unfiltered list may be read by a scan. So may the first page of the pets with a
			// status that has its own index. Both scans begin with the rows of the page and stop at the limit.
			scan := after == nil && (strings.HasPrefix(name, table+" by all") ||
				strings.HasPrefix(plan, "SCAN pets USING COVERING INDEX pets_sold\n") || strings.HasPrefix(plan, "SCAN pets USING INDEX pets_unspecified\n"))
			// "id<?" also matches "rowid<?".
			seeks := strings.Contains(plan, "id<?") || strings.Contains(plan, "id>?") || strings.Contains(plan, "hold_expires_at>?") ||
				strings.Contains(plan, "changed_at<?") || strings.Contains(plan, "pickup_date>?") || strings.Contains(plan, "orders_pickup_open (pickup_date=?)")
			switch {
			// The two excluded queries merge a few short pages.
			case strings.Contains(plan, "TEMP B-TREE") && name != "events by types" && name != "events by subjects":
				t.Errorf("%s: the list is sorted:\n%s", name, plan)
			case !scan && (!strings.Contains(plan, "SEARCH "+table) || strings.Contains(plan, "SCAN "+table)):
				t.Errorf("%s: the list is not sought in an index:\n%s", name, plan)
			case strings.Contains(name, "status and category") && !strings.Contains(plan, "(category_id=? AND status=?"):
				t.Errorf("%s: the list is sought in an index that is not made for it:\n%s", name, plan)
			case after != nil && !seeks && !strings.Contains(name, "ids"):
				t.Errorf("%s: the position is not sought in the index:\n%s", name, plan)
			}
		}
	}
}

// The largest categories are found through an index, however many animals and categories there are.
func TestLargestCategoriesAreFoundByAnIndex(t *testing.T) {
	t.Parallel()
	plan := explain(t, openNew(t), pageQuery{sqliteLargestCategories, []any{12}})
	if plan != "SCAN pet_counts USING INDEX pet_counts_total\n" {
		t.Errorf("the plan is:\n%s", plan)
	}
}

func explain(t *testing.T, store *Store, query pageQuery) string {
	t.Helper()
	c := store.file.Connect()
	defer c.Close()
	rows, err := c.Query(t.Context(), "EXPLAIN QUERY PLAN "+query.text, query.args)
	must(t, err)
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var id, parent, unused int
		var detail string
		must(t, rows.Scan(&id, &parent, &unused, &detail))
		plan.WriteString(detail + "\n")
	}
	return plan.String()
}

// On PostgreSQL, too, every page is read through an index. This is difficult for the planner, because it does not know
// that rows with the same status are often next to each other. In this test, the newest animals are available, and most
// of the older ones are sold.
func TestEveryPageOnPostgresUsesAnIndex(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t, newDatabase(t))
	db.Do("INSERT INTO categories (id) SELECT n FROM generate_series(0, 9) AS n",
		`INSERT INTO pets (name, name_key, category_id, status) SELECT 'Rex', 'rex', n % 7 % 3,
			CASE WHEN n > 20000 THEN 'available' WHEN n % 5 = 0 THEN 'pending' WHEN n % 5 = 1 THEN NULL ELSE 'sold' END FROM generate_series(1, 30000) AS n`,
		"INSERT INTO profiles (id, published, updated_at) SELECT id, 0, 0 FROM pets",
		`INSERT INTO orders (pet_id, status, pickup_date, created_at, updated_at) SELECT n % 7,
			CASE WHEN n > 20000 OR n % 5 = 0 THEN 'delivered' ELSE 'cancelled' END,
			CASE WHEN n % 3 = 0 THEN to_char(DATE '2026-11-17' - n / 100, 'YYYY-MM-DD') END, 0, 0 FROM generate_series(1, 30000) AS n`,
		`INSERT INTO orders (pet_id, status, hold_expires_at, pickup_date, created_at, updated_at)
			SELECT n, 'placed', 25000 + n * 1000000::bigint, CASE WHEN n % 3 = 0 THEN to_char(DATE '2026-11-17' + n / 100, 'YYYY-MM-DD') END, 0, 0 FROM generate_series(1, 5000) AS n`,
		`INSERT INTO events (at, type, subject, actor, data)
			SELECT 0, CASE WHEN n < 20000 THEN 'pet.created' WHEN n < 20100 THEN 'pet.deleted' ELSE 'pet.updated' END,
			'pets/' || n % 100, 'system', '{}' FROM generate_series(1, 30000) AS n`,
		`INSERT INTO webhook_deliveries (webhook_id, message_id, event_type, status, attempts, created_at, body)
			SELECT CASE WHEN n < 20000 THEN 1 ELSE 2 END, 'm', 'pet.created',
			CASE WHEN n < 10000 THEN 'failed' ELSE 'succeeded' END, '[]', 0, '{}' FROM generate_series(1, 30000) AS n`,
		`INSERT INTO event_blocks (last_id, after_id, earliest, latest, actors)
			SELECT n * 1024, (n - 1) * 1024, n, n, ' keys/1 system ' FROM generate_series(1, 60000) AS n`,
		"ANALYZE")
	for _, after := range []*int64{nil, new(int64(20_050)), new(int64(29_990))} {
		for name, query := range pageQueries(postgresDialect(nil), shop.PageRequest{Limit: 21, After: after}) {
			plan := strings.Join(pgtest.Column[string](db, "EXPLAIN ANALYZE "+query.text, query.args...), "\n")
			for _, bad := range []string{"Sort", "Seq Scan", "Removed by Filter"} {
				// These queries sort, because they merge a few short pages.
				merged := bad == "Sort" && (strings.HasPrefix(name, "events by type") || name == "events by subjects")
				// These queries filter the rows that an index finds: the blocks by time and actor, the placed orders by the
				// end of their hold, and the orders of a day by status.
				filtered := bad == "Removed by Filter" && (strings.HasPrefix(name, "event_blocks") || name == "orders to approve" || strings.Contains(name, "status and day of pick-up"))
				// A day has so few orders that the planner may sort them.
				ofDay := bad == "Sort" && (strings.Contains(name, "status and day of pick-up") || name == "orders to hand over")
				// At the end of the list, the planner knows that there are only a few rows to sort.
				few := bad == "Sort" && strings.HasSuffix(name, "no status and category, oldest first") && after != nil && *after == 29_990
				// The index is sorted by time only, so holds that end at the same time are sorted by id.
				ties := bad == "Sort" && name == "orders by the end of their hold" && strings.Contains(plan, "using orders_hold")
				if !merged && !filtered && !few && !ties && !ofDay && strings.Contains(plan, bad) {
					t.Errorf("%s: %s:\n%s\n%s", name, bad, query.text, plan)
				}
			}
		}
	}
}
