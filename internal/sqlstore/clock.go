package sqlstore

import (
	"time"

	"animalstore/internal/sqlstore/postgres"
)

// Now returns the time of the PostgreSQL server, because the clocks of the nodes may be hours apart. If the store has a
// clock of its own, Now returns the time of this clock.
func (t *tx) Now() (time.Time, error) {
	if t.dialect.clock != nil {
		return t.dialect.clock(), nil
	}
	at, _, err := one(t, scanValue[int64], "SELECT "+postgres.NowMicros)
	return fromMicros(at), err
}

// inMicros returns a clock that has the precision of the stored times.
func inMicros(clock func() time.Time) func() time.Time {
	return func() time.Time { return clock().UTC().Truncate(time.Microsecond) }
}

// micros converts a time to microseconds since 1970, which is how times are stored. It returns 0 for the zero
// time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(m int64) time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMicro(m).UTC()
}
