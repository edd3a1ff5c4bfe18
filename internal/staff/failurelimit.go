package staff

import (
	"net"
	"net/http"
	"sync"

	"golang.org/x/time/rate"

	"animalstore/internal/shop"
)

const (
	// Requests from one address may fail maxFailures times in a row, and after that once per second.
	maxFailures       = 20
	failuresPerSecond = 1
	// maxAddresses is the maximum number of addresses whose failures are remembered.
	maxAddresses = 10_000
)

// failureLimit limits how often requests from a network address may fail. Requests that succeed do not count.
type failureLimit struct {
	mu        sync.Mutex
	byAddress map[string]*rate.Limiter
}

func newFailureLimit() *failureLimit { return &failureLimit{byAddress: map[string]*rate.Limiter{}} }

// check fails with rate_limited if the address of a request has failed too often.
func (l *failureLimit) check(r *http.Request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if limiter, ok := l.byAddress[addressOf(r)]; ok && limiter.Tokens() < 1 {
		return shop.Errorf(shop.RateLimited, "There were too many links that do not work; try again in a few seconds.")
	}
	return nil
}

// failed counts a failure for the address of a request.
func (l *failureLimit) failed(r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	address := addressOf(r)
	limiter, ok := l.byAddress[address]
	if !ok {
		if len(l.byAddress) >= maxAddresses {
			clear(l.byAddress)
		}
		limiter = rate.NewLimiter(failuresPerSecond, maxFailures)
		l.byAddress[address] = limiter
	}
	limiter.Allow()
}

func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
