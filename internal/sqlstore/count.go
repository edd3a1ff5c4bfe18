package sqlstore

import (
	"strings"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/postgres"
)

// Three tables contain the counts: inventory the number of all pets in its only row, pet_counts the number of pets in
// each category, and pet_periods the arrivals and sales in each period. A SQLite file has a single writer, so the
// transaction that changes pets also updates these rows. On a PostgreSQL server, concurrent transactions would wait
// for each other's rows. So each transaction inserts its changes into the queue pet_count_changes. Queries add the
// changes in this queue, and FoldCounts moves them to the three tables.

// CountTables are the table expressions for the counts. The counts are the sums of their rows.
type CountTables struct{ Inventory, Categories, Periods string }

// The tables with the counts of each engine.
var (
	SQLiteCounts   = CountTables{"inventory", "pet_counts", "pet_periods"}
	PostgresCounts = CountTables{
		withChanges("inventory", statusColumns), withChanges("pet_counts", countColumns), withChanges("pet_periods", periodColumns),
	}
)

const (
	statusColumns = "available, pending, sold, unspecified"
	countColumns  = "category_id, " + statusColumns
	periodColumns = "begins_at, arrivals, sales"
)

func withChanges(table, columns string) string {
	return "(SELECT " + columns + " FROM " + table + " UNION ALL SELECT " + columns + " FROM " + postgres.WaitingRows("pet_count_changes") + ") AS " + table
}

// CountPets are the statements that count the pets in a store and fill pet_counts and inventory, which must be empty.
var CountPets = []string{
	"INSERT INTO pet_counts (" + countColumns + ", total) SELECT category_id, count(CASE WHEN status = 'available' THEN 1 END)," +
		" count(CASE WHEN status = 'pending' THEN 1 END), count(CASE WHEN status = 'sold' THEN 1 END)," +
		" count(CASE WHEN status IS NULL THEN 1 END), count(*) FROM pets GROUP BY category_id",
	"INSERT INTO inventory (one, " + statusColumns + ") SELECT 1, " + sums(statusColumns) + " FROM pet_counts",
}

// sums returns the expressions for the sums of columns. A sum of no rows is 0.
func sums(columns string) string {
	list := strings.Split(columns, ", ")
	for i, column := range list {
		list[i] = "CAST(coalesce(sum(" + column + "), 0) AS BIGINT) AS " + column
	}
	return strings.Join(list, ", ")
}

const anyPets = " HAVING sum(available + pending + sold + unspecified) > 0"

func (t *tx) Inventory() (inventory shop.Inventory, err error) {
	inventory, _, err = one(t, func(scan Scanner) (n shop.Inventory, err error) {
		err = scan(&n.Available, &n.Pending, &n.Sold, &n.Unspecified)
		return n, err
	}, "SELECT "+sums(statusColumns)+" FROM "+t.dialect.counts.Inventory)
	return inventory, err
}

func scanCount(scan Scanner) (count shop.CategoryCount, err error) {
	err = scan(&count.CategoryID, &count.Available, &count.Pending, &count.Sold, &count.Unspecified)
	return count, err
}

func (t *tx) LargestCategories(n int) ([]shop.CategoryCount, error) {
	return all(t, scanCount, t.dialect.largestCategories, n)
}

const sqliteLargestCategories = "SELECT " + countColumns + " FROM pet_counts ORDER BY total DESC, category_id LIMIT $1"

// postgresLargestCategories finds the n largest categories from stored counts, some of which may be out of date. If k
// categories have become smaller since their counts were stored, it reads the n+k largest stored counts. At least n of
// these categories have not become smaller. Only a category whose count has changed could be larger than them, so it
// also reads the counts of all changed categories.
var postgresLargestCategories = `
	WITH changed AS MATERIALIZED (
		SELECT category_id, ` + sums(statusColumns) + ` FROM ` + postgres.WaitingRows("pet_count_changes") + ` GROUP BY category_id
	), stored AS (
		(SELECT ` + countColumns + ` FROM pet_counts ORDER BY total DESC, category_id
			LIMIT $1 + (SELECT count(*) FROM changed WHERE available + pending + sold + unspecified < 0))
		UNION SELECT ` + countColumns + ` FROM pet_counts WHERE category_id = ANY (ARRAY(SELECT category_id FROM changed))
	)
	SELECT category_id, ` + sums(statusColumns) + ` FROM (SELECT * FROM stored UNION ALL SELECT * FROM changed) AS counted
	GROUP BY category_id` + anyPets + ` ORDER BY sum(available + pending + sold + unspecified) DESC, category_id LIMIT $1`

func (t *tx) CountCategories(ids []int64) ([]shop.CategoryCount, error) {
	return allIn(t, ids, scanCount, "SELECT category_id, "+sums(statusColumns)+" FROM "+t.dialect.counts.Categories+
		" WHERE category_id IN (%s) GROUP BY category_id"+anyPets)
}

func (t *tx) PeriodStats(since time.Time) ([]shop.PeriodStats, error) {
	return all(t, func(scan Scanner) (stats shop.PeriodStats, err error) {
		var begin int64
		err = scan(&begin, &stats.Arrivals, &stats.Sales)
		stats.Begin = fromMicros(begin)
		return stats, err
	}, "SELECT begins_at, "+sums("arrivals, sales")+" FROM "+t.dialect.counts.Periods+
		" WHERE begins_at >= $1 GROUP BY begins_at HAVING sum(arrivals) <> 0 OR sum(sales) <> 0 ORDER BY begins_at", micros(since))
}

// removePeriods removes the oldest periods. It keeps a number of periods instead of comparing times, so that a clock
// that was set forward removes nothing.
func (t *tx) removePeriods() error {
	return t.Exec("DELETE FROM pet_periods WHERE begins_at <= (SELECT begins_at FROM pet_periods ORDER BY begins_at DESC LIMIT 1 OFFSET $1)",
		shop.KeptPeriods)
}
