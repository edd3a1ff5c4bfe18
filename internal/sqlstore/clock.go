package sqlstore

import (
	"time"

	"animalstore/internal/shop"
)

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

// ClampFutureTimes corrects stored times that a wrong clock has set too far into the future. most says how far each
// kind of time may be ahead of now. The statements that update deliveries filter by webhook_id, so that the database
// can use the deliveries_due index.
func (t *tx) ClampFutureTimes(now time.Time, most shop.MaxLead) error {
	const waiting = "webhook_id IN (SELECT id FROM webhooks) AND next_at IS NOT NULL AND "
	for _, mend := range []struct {
		statement string
		to, over  time.Time
	}{
		{"UPDATE kept_answers SET kept_at = $1 WHERE kept_at > $2", now, now},
		{"UPDATE keys SET last_used_at = $1 WHERE last_used_at > $2", now, now},
		{"UPDATE sessions SET ends_at = ends_at - created_at + $1, created_at = $1, last_seen_at = $1 WHERE created_at > $2", now, now},
		{"UPDATE sessions SET last_seen_at = $1 WHERE last_seen_at > $2", now, now},
		{"UPDATE sessions SET ends_at = $1 WHERE ends_at > $2", now.Add(most.Session), now.Add(most.Session)},
		{"UPDATE sign_in_links SET ends_at = $1 WHERE ends_at > $2", now, now.Add(most.Link)},
		{"UPDATE webhook_deliveries SET claimed_until = $1 WHERE " + waiting + "claimed_until > $2", now, now.Add(most.Claim)},
		{"UPDATE webhook_deliveries SET next_at = $1 WHERE " + waiting + "next_at > $2 AND attempts = '[]'", now, now},
		{"UPDATE webhook_deliveries SET next_at = $1 WHERE " + waiting + "next_at > $2", now, now.Add(most.Retry)},
	} {
		if err := t.exec(mend.statement, micros(mend.to), micros(mend.over.Add(most.Jump))); err != nil {
			return err
		}
	}
	return nil
}
