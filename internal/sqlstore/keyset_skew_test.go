package sqlstore

import (
	"fmt"
	"strings"
	"testing"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
)

// skewed are statements that fill a store in which some statuses are rare. There are animals in category 0, in 100
// categories with 200 animals each, and in category 1000, which the planner does not know because it is filled after
// ANALYZE. In each category, only the three oldest animals are pending, and only the next three have no status. Of
// the deliveries to each of two webhooks, only the three oldest have failed.
var skewed = []string{
	"INSERT INTO categories (id) SELECT n FROM n WHERE n <= 1000",
	"INSERT INTO categories (id) VALUES (0)",
	skewedPets("1 + n % 100", 20_000, 100),
	skewedPets("0", 20_000, 1),
	"ANALYZE",
	skewedPets("1000", 5_000, 1),
	`INSERT INTO webhook_deliveries (webhook_id, message_id, event_type, status, attempts, created_at, body)
		SELECT n % 2, 'm', 'pet.created', CASE WHEN n <= 6 THEN 'failed' ELSE 'succeeded' END, '[]', 0, '{}' FROM n WHERE n <= 10000`,
}

// skewedPets returns a statement that adds count animals. In each category, the first three animals are pending, and
// the next three have no status. category is an SQL expression for the category of an animal, and categories is the
// number of categories that this expression can yield.
func skewedPets(category string, count, categories int) string {
	return fmt.Sprintf(`INSERT INTO pets (name, category_id, status) SELECT 'Rex', %s,
		CASE WHEN n <= %d THEN 'pending' WHEN n <= %d THEN NULL WHEN n %% 10 = 0 THEN 'available' ELSE 'sold' END FROM n WHERE n <= %d`,
		category, 3*categories, 6*categories, count)
}

// skewedQueries returns queries for lists that contain only rare rows.
func skewedQueries(d *dialect) map[string]pageQuery {
	queries := map[string]pageQuery{}
	for _, after := range []*int64{nil, new(int64(35_000))} {
		page := shop.PageRequest{Limit: 21, After: after}
		for _, category := range []int64{0, 7, 50, 100, 500, 1000} {
			for name, filter := range map[string]shop.PetFilter{"pending": {Status: shop.Pending}, "without a status": {NoStatus: true}} {
				filter.CategoryID = &category
				name = fmt.Sprintf("pets in category %d, %s, after %v", category, name, after != nil)
				queries[name] = newPageQuery(petsQuery(d, petColumns, shop.PetList{PetFilter: filter, PageRequest: page}))
				queries[name+", oldest first"] = newPageQuery(petsQuery(d, petColumns, shop.PetList{PetFilter: filter, PageRequest: page, OldestFirst: true}))
			}
		}
		for name, filter := range map[string]shop.PetFilter{"pending": {Status: shop.Pending}, "without a status": {NoStatus: true}} {
			queries[fmt.Sprintf("pets %s, after %v", name, after != nil)] = newPageQuery(petsQuery(d, petColumns, shop.PetList{PetFilter: filter, PageRequest: page}))
		}
		list := shop.DeliveryList{WebhookID: 1, Status: shop.DeliveryFailed, PageRequest: page}
		queries[fmt.Sprintf("failed deliveries, after %v", after != nil)] = newPageQuery(deliveriesQuery(d, list))
	}
	return queries
}

// A page of a list reads hardly more rows than it shows, even if these rows are rare in their category or webhook.
func TestRareRowsAreFoundInAnIndexOnPostgres(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t, newDatabase(t))
	for _, statement := range skewed {
		db.Do(strings.Replace(statement, "FROM n", "FROM generate_series(1, 20000) AS n", 1))
	}
	for _, analyzed := range []bool{false, true} {
		for name, query := range skewedQueries(postgresDialect(nil)) {
			if pages, plan := buffers(t, db, query.text, query.args...); pages > 60 {
				t.Errorf("%s (analyzed: %v) reads %d pages:\n%s\n%s", name, analyzed, pages, query.text, plan)
			}
		}
		db.Do("VACUUM ANALYZE")
	}
}

// SQLite finds rare rows through an index, even if it has statistics. It has statistics only if an operator has run
// ANALYZE.
func TestRareRowsAreFoundInAnIndexOnSQLite(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	const n = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20000) "
	for _, statement := range skewed {
		if strings.HasPrefix(statement, "INSERT") && strings.Contains(statement, "FROM n") {
			statement = n + statement
		}
		must(t, store.Write(t.Context(), shop.Writing{}, executing(statement)))
	}
	for name, query := range skewedQueries(sqliteDialect(nil)) {
		plan := explain(t, store, query)
		exact := "(category_id=? AND status=?"
		if strings.HasPrefix(name, "failed deliveries") {
			exact = "(webhook_id=? AND status=?"
		}
		own := strings.Contains(plan, "pets_pending") || strings.Contains(plan, "pets_unspecified")
		if inCategory := strings.HasPrefix(name, "pets in"); strings.Contains(plan, "B-TREE") || !strings.Contains(plan, exact) && (inCategory || !own) {
			t.Errorf("%s: a page reads too much:\n%s\n%s", name, query.text, plan)
		}
	}
}
