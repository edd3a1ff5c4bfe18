package sqlstore

import "time"

func (t *tx) Now() (time.Time, error) { return t.dialect.now(t) }

// clockOf adapts a clock in this process to the signature of dialect.now.
func clockOf(clock func() time.Time) func(*tx) (time.Time, error) {
	return func(*tx) (time.Time, error) { return clock().UTC().Truncate(time.Microsecond), nil }
}

// serverMicros is an SQL expression for the server's time in microseconds since 1970. The server's clock is
// used because the clocks of the nodes may be hours apart.
const serverMicros = "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)"

func serverTime(t *tx) (time.Time, error) {
	at, _, err := one(t, scanValue[int64], "SELECT "+serverMicros)
	return fromMicros(at), err
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
