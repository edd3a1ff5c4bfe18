package sqlstore

import "animalstore/internal/shop"

func (t *tx) CountChanges(minimum, maximum int64) (shop.CountChanges, error) {
	position, lost, err := t.countPosition()
	if err != nil || lost {
		return shop.CountChanges{Lost: lost}, err
	}
	last, _, err := one(t, scanValue[int64], "SELECT coalesce(max(id), 0) FROM events")
	if err != nil || last-position < minimum { // usually, there are too few new events
		return shop.CountChanges{}, err
	}
	return t.countChanges(position, "id > $1 ORDER BY id LIMIT $2", position, maximum)
}

func (t *tx) countChanges(position int64, condition string, args ...any) (shop.CountChanges, error) {
	counts := petCounts{}
	n, last, err := t.addEvents(counts, petEvents+"events WHERE "+condition, args...)
	if err != nil || n == 0 {
		return shop.CountChanges{}, err
	}
	return shop.CountChanges{From: position, To: last, Changes: counts.list()}, nil
}

// FoldCounts adds changes to the stored counts and moves the position past the events of these changes, in one
// transaction. It does nothing if the position is no longer changes.From, so that no event is added twice.
func (t *tx) FoldCounts(changes shop.CountChanges) error {
	_, moved, err := one(t, scanValue[int64], "UPDATE pet_count_progress SET position = $1 WHERE one = 1 AND position = $2 RETURNING one",
		changes.To, changes.From)
	if err != nil || !moved {
		return err
	}
	err = inChunks(changes.Changes, placeholders(6), func(part []shop.CategoryCount, places string) error {
		var args []any
		for _, c := range part {
			args = append(args, c.CategoryID, c.Available, c.Pending, c.Sold, c.Unspecified, c.Total())
		}
		return t.exec("INSERT INTO pet_counts ("+countColumns+", total) VALUES "+places+` ON CONFLICT (category_id) DO UPDATE SET
			available = pet_counts.available + excluded.available, pending = pet_counts.pending + excluded.pending,
			sold = pet_counts.sold + excluded.sold, unspecified = pet_counts.unspecified + excluded.unspecified,
			total = pet_counts.total + excluded.total`, args...)
	})
	if err != nil {
		return err
	}
	return t.exec("DELETE FROM pet_counts WHERE total = 0")
}

// foldCountsUpTo adds the changes of all events up to a position to the stored counts, before these events are
// removed. If some of these events are already missing, it leaves the position unchanged, so that the pets are
// counted again.
func (t *tx) foldCountsUpTo(last int64) error {
	position, lost, err := t.countPosition()
	if err != nil || lost || position >= last {
		return err
	}
	changes, err := t.countChanges(position, "id > $1 AND id <= $2 ORDER BY id", position, last)
	if err != nil || changes.From == changes.To {
		return err
	}
	return t.FoldCounts(changes)
}
