package storeadmin

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

// unusedID returns a number greater than any id that a store can have assigned. Ids start at 1 or, after a
// restore, at the time of the restore in microseconds. A store assigns less than one id per microsecond, so
// its ids never catch up with the current time.
func unusedID() int64 { return time.Now().UnixMicro() }

// highWater holds the last ids that a store has assigned, its newest event, and its keys.
type highWater struct {
	last     map[string]int64 // the last id that each table has assigned
	category int64
	undone   sqlstore.UndoneRanges
	event    *shop.StoredEvent // the newest event, or nil; see readHighWater
	keys     map[int64]string  // the name of each key
	secrets  map[int64]string  // the hashes of each key's secrets, joined into one string
}

// continueIDs makes the restored store at fresh assign only ids that the previous store at path has not assigned. It
// also determines which keys become valid again. intact is false if the previous store is missing or damaged. In that
// case, lastID may be the last id that the previous store assigned. lastID has no effect on the positions of events,
// because nobody can know the last position. If a position were used again, readers would miss the new event at that
// position.
func continueIDs(ctx context.Context, fresh, path string, intact bool, lastID *int64) (done Restored, err error) {
	backup, err := readHighWater(ctx, fresh, nil)
	if err != nil {
		return done, err
	}
	var old *highWater
	if intact {
		old, err = readHighWater(ctx, path, backup.event)
	}
	if old == nil || err != nil { // the previous store is missing or cannot be read
		old = &highWater{}
	}
	known := backup.event != nil && old.event != nil
	if !known {
		done.GoOn = unusedID()
		done.GoOnEvents = done.GoOn
		if lastID != nil {
			done.GoOn = max(*lastID, backup.lastSeen())
		}
	}
	c := sqlstore.OpenFile(fresh)
	defer c.Close()
	if err := c.Exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return done, err
	}
	for _, table := range copiedTables {
		goOn := done.GoOn
		if isInternal(table.name) {
			goOn = done.GoOnEvents
		}
		last := max(backup.last[table.name], old.last[table.name], goOn)
		if table.name == "events" && last > backup.last[table.name] {
			last++ // skip one position, so that no event ever gets it
			undone := backup.undone.Add(sqlstore.UndoneRange{Last: backup.last[table.name], Resume: last})
			if err := writeSetting(ctx, c, sqlstore.UndoneRangesSetting, undone.String()); err != nil {
				return done, err
			}
		}
		if err := setLastID(ctx, c, &table, last); err != nil {
			return done, err
		}
	}
	if category := max(backup.category, old.category, done.GoOn); category > backup.category {
		if err := writeSetting(ctx, c, "last_category_id", strconv.FormatInt(category, 10)); err != nil {
			return done, err
		}
	}
	if known {
		done.Keys = revivedKeys(backup, old)
	}
	return done, c.Exec(ctx, "COMMIT")
}

// isInternal reports whether the ids in a table are used only by programs, not by people.
func isInternal(table string) bool { return table == "events" || table == "webhook_deliveries" }

// lastSeen returns the largest id that people may have seen.
func (m *highWater) lastSeen() int64 {
	last := m.category
	for table, id := range m.last {
		if !isInternal(table) {
			last = max(last, id)
		}
	}
	return last
}

func writeSetting(ctx context.Context, c *sqlstore.Conn, name, value string) error {
	return c.Exec(ctx, sqlstore.SetSetting, name, value)
}

// revivedKeys describes the keys that a restore makes valid again.
func revivedKeys(backup, old *highWater) (names []string) {
	for _, id := range slices.Sorted(maps.Keys(backup.keys)) {
		switch _, still := old.keys[id]; {
		case !still:
			names = append(names, fmt.Sprintf("%d (%s): it was revoked after the backup, and works again", id, backup.keys[id]))
		case old.secrets[id] != backup.secrets[id]:
			names = append(names, fmt.Sprintf("%d (%s): it was rotated after the backup, and its secrets are again those from before", id, backup.keys[id]))
		}
	}
	return names
}

// readHighWater reads a store's highWater. If same is nil, the result contains the store's newest event. If same is not
// nil, it is the newest event in a backup, and the result contains this event only if the store contains it, too. If
// the store does, the backup was made from this store.
func readHighWater(ctx context.Context, path string, same *shop.StoredEvent) (*highWater, error) {
	s, err := openSnapshot(ctx, path)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	m := &highWater{last: map[string]int64{}, keys: map[int64]string{}, secrets: map[int64]string{}}
	if err := s.Each(ctx, "SELECT name, seq FROM sqlite_sequence", func(scan sqlstore.Scanner) error {
		var name string
		var last int64
		err := scan(&name, &last)
		m.last[name] = last
		return err
	}); err != nil {
		return nil, err
	}
	if err := s.Each(ctx, "SELECT name, value FROM settings", func(scan sqlstore.Scanner) error {
		var name, value string
		err := scan(&name, &value)
		switch {
		case err != nil:
		case name == "last_category_id":
			m.category, err = strconv.ParseInt(value, 10, 64)
		case name == sqlstore.UndoneRangesSetting:
			m.undone, err = sqlstore.ParseUndoneRanges(value)
		}
		return err
	}); err != nil {
		return nil, err
	}
	if err := m.readKeys(ctx, s); err != nil {
		return nil, err
	}
	query := "SELECT " + sqlstore.Events.Columns + " FROM events ORDER BY id DESC LIMIT 1"
	if same != nil {
		query = "SELECT " + sqlstore.Events.Columns + " FROM events WHERE id = " + strconv.FormatInt(same.ID, 10)
	}
	err = s.Each(ctx, query, func(scan sqlstore.Scanner) error {
		event, err := sqlstore.Events.Scan(scan)
		if same == nil || event.Time.Equal(same.Time) && event.Type == same.Type && event.Subject == same.Subject &&
			event.Actor == same.Actor && bytes.Equal(event.Data, same.Data) {
			m.event = &event
		}
		return err
	})
	return m, err
}

func (m *highWater) readKeys(ctx context.Context, s *sqlstore.Conn) error {
	return s.Each(ctx, "SELECT id, name, hex(hash) FROM keys LEFT JOIN key_secrets ON key_id = id ORDER BY id, hash", func(scan sqlstore.Scanner) error {
		var id int64
		var name string
		var hash sql.NullString
		err := scan(&id, &name, &hash)
		m.keys[id] = name
		m.secrets[id] += hash.String + " "
		return err
	})
}
