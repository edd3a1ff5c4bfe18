package sqlstore

import (
	"fmt"
	"strings"

	"animalstore/internal/sqlstore/postgres"
)

// foldAtOnce is the maximum number of rows that one call of FoldCounts removes from pet_count_changes.
const foldAtOnce = 10_000

func (t *tx) WaitingCounts(limit int) (int, error) {
	if t.dialect.foldCounts == "" {
		return 0, nil
	}
	n, _, err := one(t, scanValue[int], "SELECT count(*) FROM (SELECT FROM "+postgres.WaitingRows("pet_count_changes")+" LIMIT $1) AS waiting", limit)
	return n, err
}

// FoldCounts does nothing on SQLite, where every write updates the counts itself.
func (t *tx) FoldCounts() error {
	if t.dialect.foldCounts == "" {
		return nil
	}
	if err := t.Exec(t.dialect.foldCounts); err != nil {
		return err
	}
	return t.Exec("DELETE FROM pet_counts WHERE total = 0")
}

// postgresFoldCounts moves rows from pet_count_changes to the counts.
var postgresFoldCounts = fmt.Sprintf(`
	WITH waiting AS MATERIALIZED (
		SELECT id FROM %[1]s LIMIT %[2]d
	), folded AS (
		DELETE FROM pet_count_changes WHERE id = ANY (ARRAY(SELECT id FROM waiting)) RETURNING *
	), inventories AS (
		UPDATE inventory SET %[3]s FROM (SELECT %[4]s FROM folded HAVING count(*) > 0) AS new WHERE one = 1
	), categories AS (
		INSERT INTO pet_counts (%[5]s, total) SELECT category_id, %[4]s, sum(available + pending + sold + unspecified) FROM folded
		WHERE (available, pending, sold, unspecified) <> (0, 0, 0, 0) GROUP BY category_id
		ON CONFLICT (category_id) DO UPDATE SET %[6]s
	), periods AS (
		INSERT INTO pet_periods (%[7]s) SELECT begins_at, %[8]s FROM folded WHERE arrivals <> 0 OR sales <> 0 GROUP BY begins_at
		ON CONFLICT (begins_at) DO UPDATE SET %[9]s
	), %[10]s
	SELECT FROM folded`,
	postgres.WaitingRows("pet_count_changes"), foldAtOnce,
	additions("inventory", statusColumns, "new"), sums(statusColumns),
	countColumns, additions("pet_counts", statusColumns+", total", "excluded"),
	periodColumns, sums("arrivals, sales"), additions("pet_periods", "arrivals, sales", "excluded"),
	postgres.MoveWatermark("pet_count_changes", fmt.Sprintf("(SELECT count(*) FROM waiting) BETWEEN 1 AND %d", foldAtOnce-1)))

// additions returns the assignments that add the columns of another table to the columns of a table.
func additions(table, columns, other string) string {
	list := strings.Split(columns, ", ")
	for i, column := range list {
		list[i] = fmt.Sprintf("%[1]s = %[2]s.%[1]s + %[3]s.%[1]s", column, table, other)
	}
	return strings.Join(list, ", ")
}
