package sqlstore

import (
	"math"
	"slices"
	"sync"
	"time"
)

// sweep remembers the time up to which old rows have been deleted from a table, so that the next batch begins at that
// time. While a backup on a PostgreSQL server holds a snapshot, the server keeps deleted rows. If every batch began
// with the oldest row, it would read all of them again.
//
// A batch may be rolled back, so its rows count as deleted only when a later batch has found none of them. But once an
// hour, a batch begins with the oldest row, to find rows that were committed late or whose time is wrong. A nil sweep
// remembers nothing.
type sweep struct {
	mu      sync.Mutex
	swept   int64 // the time before which there are no rows, in microseconds
	tried   int64 // the time up to which the last batch has deleted all rows, unless it was rolled back
	restart time.Time
}

// begin returns the time at which the next batch begins.
func (s *sweep) begin() int64 {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.After(s.restart) {
		s.swept, s.tried, s.restart = 0, 0, now.Add(time.Hour)
	}
	return s.swept
}

// found records the result of a batch. first is the time of the first row in the batch. Once the batch is committed, no
// rows up to the time upTo remain. If the batch has no rows, first is any time after upTo.
func (s *sweep) found(first, upTo int64) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if first > s.tried {
		s.swept = s.tried
	}
	s.tried = max(s.tried, upTo)
}

// sweep deletes about limit rows, oldest first. It deletes only rows whose time in column is at most before. It reports
// whether there may be more. condition is empty or begins with AND. sweep first reads the time of the last row that it
// will delete. With this time as the upper bound of the DELETE, the planner uses the index on the column. name is a key
// of dialect.sweeps.
func (t *tx) sweep(name, table, column, condition string, before time.Time, limit int) (more bool, err error) {
	s := t.dialect.sweeps[name]
	begin := s.begin()
	times, err := all(t, scanValue[int64], "SELECT "+column+" FROM "+table+" WHERE "+column+" >= $1 AND "+column+" <= $2"+condition+
		" ORDER BY "+column+" LIMIT $3", begin, micros(before), limit)
	if err != nil {
		return false, err
	}
	if len(times) == 0 {
		s.found(math.MaxInt64, micros(before))
		return false, nil
	}
	last := micros(before)
	if more = len(times) == limit; more {
		last = times[limit-1]
	}
	s.found(times[0], last)
	return more, t.Exec("DELETE FROM "+table+" WHERE "+column+" >= $1 AND "+column+" <= $2"+condition, begin, last)
}

// removeAtOnce is the maximum number of rows that one call of a method such as RemoveDeliveries removes. On SQLite, all
// other writes wait for the call, which takes a few milliseconds.
const removeAtOnce = 250

// agedRow is the id of a row and its time in microseconds since 1970.
type agedRow struct{ id, at int64 }

func scanAge(scan Scanner) (row agedRow, err error) {
	err = scan(&row.id, &row.at)
	return row, err
}

// countOlder returns how many rows come before the first row that is not older than the given time.
func countOlder(rows []agedRow, before time.Time) int {
	n := slices.IndexFunc(rows, func(r agedRow) bool { return r.at >= micros(before) })
	if n < 0 {
		return len(rows)
	}
	return n
}

// removeOldest removes rows that are older than before, in the order of their ids. It stops at the first row that is
// too new. Rows with a time after now were written while the clock was wrong. Their times are ignored: they are
// removed together with the next row that is old enough.
func (t *tx) removeOldest(table, column string, before, now time.Time) (removed []int64, err error) {
	oldest, err := all(t, scanAge, "SELECT id, "+column+" FROM "+table+" WHERE "+column+" <= $1 ORDER BY id LIMIT $2", micros(now.Add(time.Minute)), removeAtOnce)
	if err != nil {
		return nil, err
	}
	n := countOlder(oldest, before)
	if n == 0 {
		return nil, nil
	}
	return all(t, scanValue[int64], "DELETE FROM "+table+" WHERE id IN (SELECT id FROM "+table+" WHERE id <= $1 ORDER BY id LIMIT $2) RETURNING id",
		oldest[n-1].id, removeAtOnce)
}
