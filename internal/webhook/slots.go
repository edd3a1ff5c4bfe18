package webhook

import (
	"maps"
	"sync"

	"animalstore/internal/shop"
)

const (
	// maxInFlight is the maximum number of concurrent attempts from one node. It limits the memory and the
	// connections that attempts need.
	maxInFlight = 256
	// maxFailing is the maximum number of concurrent attempts from one node to failing webhooks. An attempt to reach
	// a receiver that does not respond stays in flight until the timeout. Without this limit, such attempts could
	// leave no room for others.
	maxFailing = maxInFlight / 2
	// maxPerWebhook is the maximum number of concurrent attempts from one node to one webhook.
	maxPerWebhook = 8
)

// slots counts the attempts in flight.
type slots struct {
	mu        sync.Mutex
	total     int
	failing   int
	byWebhook map[int64]int
}

func newSlots() *slots { return &slots{byWebhook: map[int64]int{}} }

// free returns how many more attempts may be started.
func (s *slots) free() shop.ClaimLimits {
	s.mu.Lock()
	defer s.mu.Unlock()
	return shop.ClaimLimits{
		Total: maxInFlight - s.total, Failing: maxFailing - s.failing, PerWebhook: maxPerWebhook, InFlight: maps.Clone(s.byWebhook),
	}
}

func (s *slots) take(claim shop.Claim)    { s.add(claim, 1) }
func (s *slots) release(claim shop.Claim) { s.add(claim, -1) }

func (s *slots) add(claim shop.Claim, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total += n
	if claim.Failing {
		s.failing += n
	}
	if s.byWebhook[claim.WebhookID] += n; s.byWebhook[claim.WebhookID] == 0 {
		delete(s.byWebhook, claim.WebhookID)
	}
}
