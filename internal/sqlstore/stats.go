package sqlstore

import (
	"fmt"

	"animalstore/internal/shop"
)

// PeriodStats returns, for each period, how many pets were created and how many were sold. It counts the events whose
// positions are greater than after and at most upTo.
func (t *tx) PeriodStats(after, upTo int64) ([]shop.PeriodStats, error) {
	current, previous := fmt.Sprintf(t.dialect.statusIn, "current"), fmt.Sprintf(t.dialect.statusIn, "previous")
	return all(t, func(scan Scanner) (count shop.PeriodStats, err error) {
		var period int64
		err = scan(&period, &count.Arrivals, &count.Sales)
		count.Begin = fromMicros(period * shop.StatsPeriod.Microseconds())
		return count, err
	}, `
		SELECT at / $3 AS period, CAST(sum(CASE WHEN type = 'pet.created' THEN 1 ELSE 0 END) AS BIGINT),
			CAST(sum(CASE WHEN type <> 'pet.updated' THEN 0
				WHEN `+current+` = 'sold' AND `+previous+` IS DISTINCT FROM 'sold' THEN 1 ELSE 0 END) AS BIGINT)
		FROM events WHERE id > $1 AND id <= $2 GROUP BY 1 ORDER BY 1`, after, upTo, shop.StatsPeriod.Microseconds())
}
