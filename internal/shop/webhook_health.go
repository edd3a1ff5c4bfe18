package shop

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

const (
	// downAfter is how many attempts must have failed within downWindow, with none accepted, until a webhook counts as
	// down.
	downAfter  = 10
	downWindow = 5 * time.Minute
	// probeInterval is how often the oldest failed message is sent to a webhook that is down.
	probeInterval = 5 * time.Minute
)

// WebhookProgress says how far the messages to a webhook have come. No event reports it.
type WebhookProgress struct {
	Position    int64       // every event up to this position that the webhook wants has been attempted
	LeasedUntil time.Time   // until this time, only the node that holds the lease may send messages
	AcceptedAt  time.Time   // when a message was last accepted
	Failures    []time.Time // the last attempts that failed since then, at most downAfter, oldest first
	ProbeAt     time.Time   // when the oldest failed message is sent to a webhook that is down; zero if it is not down
}

// isLeased reports whether a node holds the webhook. A lease that would last for longer than LeaseDuration was stored
// while the clock was wrong, and does not count.
func (p WebhookProgress) isLeased(now time.Time) bool {
	return p.LeasedUntil.After(now) && !p.LeasedUntil.After(now.Add(LeaseDuration))
}

// isDown reports whether the webhook is down. While it is, it gets no events that were not attempted yet.
func (p WebhookProgress) isDown() bool { return !p.ProbeAt.IsZero() }

// probeIsDue reports whether the webhook is down and the oldest failed message is to be sent now.
func (p WebhookProgress) probeIsDue(now time.Time) bool { return p.isDown() && !p.ProbeAt.After(now) }

// failedOnly reports whether there were at least downAfter attempts within downWindow, and all of them failed.
func (p WebhookProgress) failedOnly(now time.Time) bool {
	from := now.Add(-downWindow)
	return len(p.Failures) == downAfter && p.Failures[0].After(from) && !p.AcceptedAt.After(from)
}

// forgetFailures makes the webhook start over, because it has a new URL or was enabled again.
func (w *Webhook) forgetFailures() {
	w.FailingSince, w.AcceptedAt, w.Failures, w.ProbeAt = time.Time{}, time.Time{}, nil, time.Time{}
}

// applyAttempt records the time since which every attempt to send to the webhook has failed, and whether the webhook is
// down. It disables the webhook if its URL is gone. It also disables the webhook if all attempts of a delivery have
// failed and the webhook has accepted no message since the first of these attempts.
func (w *Webhook) applyAttempt(attempt Attempt, delivery Delivery, now time.Time) {
	if attempt.succeeded() {
		w.forgetFailures()
		w.AcceptedAt = now
		return
	}
	if w.FailingSince.IsZero() {
		w.FailingSince = attempt.At
	}
	failures := append(slices.Clone(w.Failures), now)
	w.Failures = failures[max(0, len(failures)-downAfter):]
	switch {
	case !w.Enabled:
	case attempt.Status == http.StatusGone:
		w.Enabled, w.DisabledReason = false, "The URL responded with 410 Gone."
	case delivery.Status == DeliveryFailed && !w.FailingSince.After(delivery.Attempts[0].At):
		w.Enabled = false
		w.DisabledReason = fmt.Sprintf("Every attempt since %s has failed; in the last one, %s.", w.FailingSince.Format(time.RFC3339), attempt.problem())
	case !w.isDown() && w.failedOnly(now):
		w.ProbeAt = now.Add(probeInterval)
	}
}
