package sqlstore

import (
	"strings"
	"testing"

	"animalstore/internal/shop"
)

// Every page costs the same, wherever it is in the list. Each query seeks in an index that has the order of
// the list, so nothing has to be sorted.
func TestEveryPageSeeksInAnIndex(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	addPets(t, store, 300)
	category, position := new(int64(1)), new(int64(150))
	for name, filter := range map[string]shop.PetFilter{
		"all":                 {},
		"status":              {Status: shop.Available},
		"category":            {CategoryID: category},
		"status and category": {Status: shop.Sold, CategoryID: category},
		"ids":                 {IDs: []int64{3, 1, 2}},
		"ids and status":      {Status: shop.Sold, IDs: []int64{3, 1, 2}},
	} {
		for page, before := range map[string]*int64{"first": nil, "later": position} {
			t.Run(name+"/"+page, func(t *testing.T) {
				query, args := petsQuery(sqliteDialect(nil), shop.PetList{PetFilter: filter, PageRequest: shop.PageRequest{Limit: 21, After: before}})
				plan := explain(t, store, query, args)
				if strings.Contains(plan, "TEMP B-TREE") {
					t.Errorf("the list is sorted:\n%s", plan)
				}
				// The first page of the unfiltered list may be read by a scan. The same is true for a status
				// that has its own index. Both scans start at the end and stop at the limit.
				first := name+page == "allfirst" || name+page == "statusfirst" && strings.Contains(plan, "SCAN pets USING COVERING INDEX pets_available\n")
				if !first && !strings.Contains(plan, "SEARCH pets") {
					t.Errorf("the list is not sought in an index:\n%s", plan)
				}
				if name == "status and category" && !strings.Contains(plan, "(category_id=? AND status=?") {
					t.Errorf("the list is sought in an index that is not made for it:\n%s", plan)
				}
				if before != nil && filter.IDs == nil && !strings.Contains(plan, "rowid<?") && !strings.Contains(plan, "id<?") {
					t.Errorf("the position is not sought in the index:\n%s", plan)
				}
			})
		}
	}
}

func TestEveryPageOfOrdersSeeksInAnIndex(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	for name, list := range map[string]shop.OrderList{
		"status": {Status: shop.Placed}, "pet": {PetID: new(int64(1))}, "pet and status": {PetID: new(int64(1)), Status: shop.Placed},
	} {
		for page, from := range map[string]*int64{"first": nil, "later": new(int64(150))} {
			list.PageRequest = shop.PageRequest{Limit: 21, After: from}
			query, args := ordersQuery(sqliteDialect(nil), list)
			plan := explain(t, store, query, args)
			if strings.Contains(plan, "TEMP B-TREE") || !strings.Contains(plan, "SEARCH orders") || from != nil && !strings.Contains(plan, "id<?") {
				t.Errorf("%s, %s page:\n%s", name, page, plan)
			}
		}
	}
}

func TestEveryPageOfEventsAndDeliveriesSeeksInAnIndex(t *testing.T) {
	t.Parallel()
	store, d := openNew(t), sqliteDialect(nil)
	for page, from := range map[string]*int64{"first": nil, "later": new(int64(150))} {
		window := shop.PageRequest{Limit: 21, After: from}
		for name, filter := range map[string]shop.EventFilter{
			"type": {Types: []shop.EventType{shop.PetCreated}}, "types": {Types: shop.EventTypes()}, "subject": {Subject: "pets/1"},
			"subject and types": {Subject: "pets/1", Types: shop.EventTypes()},
		} {
			query, args := eventsQuery(d, filter, window)
			plan := explain(t, store, query, args)
			// If there are several types, the merged pages have to be sorted, but these pages are short.
			sorted := strings.Contains(plan, "TEMP B-TREE") && name != "types"
			if sorted || strings.Contains(plan, "SCAN events") || from != nil && !strings.Contains(plan, "id>?") {
				t.Errorf("events by %s, %s page:\n%s", name, page, plan)
			}
		}
		for _, status := range []shop.DeliveryStatus{"", shop.DeliveryFailed} {
			query, args := deliveriesQuery(d, shop.DeliveryList{WebhookID: 1, Status: status, PageRequest: window})
			plan := explain(t, store, query, args)
			if strings.Contains(plan, "TEMP B-TREE") || !strings.Contains(plan, "SEARCH deliveries") || from != nil && !strings.Contains(plan, "id<?") {
				t.Errorf("deliveries %s, %s page:\n%s", status, page, plan)
			}
		}
	}
}

func explain(t *testing.T, store *Store, query string, args []any) string {
	t.Helper()
	c := storeConn(sqliteOf(store).file.path, Options{})
	defer c.close()
	rows, err := c.query(t.Context(), "EXPLAIN QUERY PLAN "+query, args)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan.WriteString(detail + "\n")
	}
	return plan.String()
}
