package shop

import (
	"fmt"
	"net/http"
	"time"
)

// applyAttempt records the time since which every attempt to send to the webhook has failed. It disables the
// webhook if its URL is gone. It also disables the webhook if all attempts of a delivery have failed and the
// webhook has accepted no message since the first of these attempts.
func (w *Webhook) applyAttempt(attempt Attempt, delivery Delivery) {
	if attempt.succeeded() {
		w.FailingSince = time.Time{}
		return
	}
	if w.FailingSince.IsZero() {
		w.FailingSince = attempt.At
	}
	switch {
	case !w.Enabled:
	case attempt.Status == http.StatusGone:
		w.Enabled, w.DisabledReason = false, "The URL responded with 410 Gone."
	case delivery.Status == DeliveryFailed && !w.FailingSince.After(delivery.Attempts[0].At):
		w.Enabled = false
		w.DisabledReason = fmt.Sprintf("Every attempt since %s has failed; in the last one, %s.", w.FailingSince.Format(time.RFC3339), attempt.problem())
	}
}
