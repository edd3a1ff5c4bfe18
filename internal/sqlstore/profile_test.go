package sqlstore

import (
	"fmt"
	"strings"
	"testing"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
)

// skewedProfiles are statements that fill a store in which only the three oldest pets are not published, male, small and
// tagged as rare.
var skewedProfiles = []string{
	"INSERT INTO categories (id) VALUES (1)",
	"INSERT INTO pets (name, category_id, published) SELECT 'Rex', 1, CASE WHEN n <= 3 THEN 0 ELSE 1 END FROM n",
	`INSERT INTO profiles (id, published, sex, size, tags, updated_at) SELECT n, CASE WHEN n <= 3 THEN 0 ELSE 1 END,
		CASE WHEN n <= 3 THEN 'male' ELSE 'female' END, CASE WHEN n <= 3 THEN 'small' ELSE 'large' END, 'rare', 1 FROM n`,
	"INSERT INTO profile_tags (tag, id) SELECT CASE WHEN n <= 3 THEN 'RARE' ELSE 'COMMON' END, n FROM n",
}

// rareProfiles returns queries for lists that contain only the three oldest pets.
func rareProfiles(d *dialect) map[string]pageQuery {
	queries := map[string]pageQuery{}
	for _, after := range []*int64{nil, new(int64(15_000))} {
		for name, filter := range map[string]shop.ProfileFilter{
			"published": {Published: new(false)}, "sex": {Sex: shop.Male}, "size": {Size: shop.Small}, "tag": {Tags: []string{"Rare"}},
		} {
			list := shop.ProfileList{ProfileFilter: filter, PageRequest: shop.PageRequest{Limit: 21, After: after}}
			queries[fmt.Sprintf("profiles by %s, after %v", name, after != nil)] = newPageQuery(profilesQuery(d, list))
		}
	}
	return queries
}

// A page of profiles reads hardly more rows than it shows, even if these rows are rare.
func TestRareProfilesAreFoundInAnIndexOnPostgres(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t, newDatabase(t))
	for _, statement := range skewedProfiles {
		db.Do(strings.Replace(statement, "FROM n", "FROM generate_series(1, 20000) AS n", 1))
	}
	for _, analyzed := range []bool{false, true} {
		for name, query := range rareProfiles(postgresDialect(nil)) {
			if pages, plan := buffers(t, db, query.text, query.args...); pages > 60 {
				t.Errorf("%s (analyzed: %v) reads %d pages:\n%s\n%s", name, analyzed, pages, query.text, plan)
			}
		}
		query, args := profilesQuery(postgresDialect(nil), shop.ProfileList{PageRequest: shop.PageRequest{Limit: 21, After: new(int64(15_000))}})
		if pages, plan := buffers(t, db, query, args...); pages > 150 {
			t.Errorf("the page of all (analyzed: %v) reads %d pages:\n%s\n%s", analyzed, pages, query, plan)
		}
		db.Do("VACUUM ANALYZE")
	}
}

// SQLite seeks the page in an index that has the order of the list, and looks up the rest by id.
func TestRareProfilesAreFoundInAnIndexOnSQLite(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	const n = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20000) "
	for _, statement := range append(skewedProfiles, "ANALYZE") {
		if strings.Contains(statement, "FROM n") {
			statement = n + statement
		}
		must(t, store.Write(t.Context(), shop.Writing{}, executing(statement)))
	}
	exact := map[string]string{
		"published, after false": "SCAN pets USING INDEX pets_unpublished\n", "published, after true": "pets_unpublished (id<?)\n",
		"sex, after false": "profiles_sex (sex=?)\n", "sex, after true": "profiles_sex (sex=? AND id<?)\n",
		"size, after false": "profiles_size (size=?)\n", "size, after true": "profiles_size (size=? AND id<?)\n",
		"tag, after false": "(tag=?)\n", "tag, after true": "(tag=? AND id<?)\n",
	}
	for name, query := range rareProfiles(sqliteDialect(nil)) {
		plan := explain(t, store, query)
		want := exact[strings.TrimPrefix(name, "profiles by ")]
		rest := strings.Replace(plan, want, "", 1)
		if !strings.Contains(plan, want) || strings.Contains(rest, "SCAN pets") || strings.Contains(rest, "SCAN profile") {
			t.Errorf("%s: a page reads too much:\n%s\n%s", name, query.text, plan)
		}
	}
}
