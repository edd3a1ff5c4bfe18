package client_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"animalstore/client"
)

// waits returns the time between one request and the next.
func (n *testNetwork) waits() (waits []time.Duration) {
	sent := n.requests()
	for i := range sent[1:] {
		waits = append(waits, sent[i+1].at.Sub(sent[i].at))
	}
	return waits
}

// injectAlways sets the fault for every request.
func (n *testNetwork) injectAlways(f fault) { n.inject(slices.Repeat([]fault{f}, 100)...) }

func TestBackoffGrows(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		most := []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second}
		longest := make([]time.Duration, len(most))
		for range 100 {
			n.injectAlways(respond(502, ""))
			if _, err := n.client(client.WithRetries(len(most))).GetPet(t.Context(), 1); err == nil {
				t.Fatal("got no error")
			}
			waits := n.waits()
			wantEqual(t, "retries", len(waits), len(most))
			for i, wait := range waits {
				if wait < 0 || wait >= most[i] {
					t.Errorf("wait %d took %v, want at most %v", i, wait, most[i])
				}
				longest[i] = max(longest[i], wait)
			}
		}
		for i, wait := range longest {
			if wait < most[i]/2 { // by chance, this happens only once in 2^97 test runs
				t.Errorf("wait %d never took more than %v, want up to %v", i, wait, most[i])
			}
		}
		for retries, options := range map[int][]client.Option{4: nil, 50: {client.WithRetries(50)}} { // 4 is the default
			n.injectAlways(respond(503, ""))
			n.client(options...).GetPet(t.Context(), 1)
			wantEqual(t, "retries", len(n.waits()), retries)
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		for _, c := range []struct {
			retryAfter  string
			least, most time.Duration // the expected range for the first wait
		}{
			{"7", 7 * time.Second, 7250 * time.Millisecond},
			{"a date", 6 * time.Second, 7250 * time.Millisecond},
			{"0", 0, 250 * time.Millisecond},
			{"Fri, 31 Dec 1999 23:59:59 GMT", 0, 250 * time.Millisecond},
			{"soon", 0, 250 * time.Millisecond},
			{"-7", 0, 250 * time.Millisecond},
		} {
			for _, status := range []int{429, 503} {
				n.injectAlways(func(w http.ResponseWriter, r *http.Request, service http.Handler) {
					value := c.retryAfter
					if value == "a date" {
						value = time.Now().Add(7 * time.Second).UTC().Format(http.TimeFormat)
					}
					respond(status, "", "Retry-After", value)(w, r, service)
				})
				_, err := n.client(client.WithRetries(1)).GetPet(t.Context(), 1)
				if waits := n.waits(); len(waits) != 1 || waits[0] < c.least || waits[0] >= c.most {
					t.Errorf("%d %s: waited %v, want %v to %v", status, c.retryAfter, waits, c.least, c.most)
				}
				if e, _ := errors.AsType[*client.Error](err); e.Status != status || e.RetryAfter < c.least || e.RetryAfter > c.most {
					t.Errorf("%d %s: got %+v", status, c.retryAfter, e)
				}
			}
		}
	})
}

// If Retry-After is longer than a minute, the call fails immediately instead of waiting.
func TestLongRetryAfterFailsAtOnce(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		for _, value := range []string{"3600", "61", "2147483647", "99999999999999999999"} {
			n.injectAlways(respond(429, "", "Retry-After", value))
			start := time.Now()
			_, err := n.client().GetPet(t.Context(), 1)
			if e, _ := errors.AsType[*client.Error](err); len(n.requests()) != 1 || !time.Now().Equal(start) || e.RetryAfter < time.Minute {
				t.Errorf("%s: got %+v after %v", value, err, time.Since(start))
			}
		}
	})
}

// A call does not wait for a retry that its deadline rules out, and it ends if it is cancelled while waiting.
func TestBackoffEndsWithTheContext(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		for _, c := range []struct {
			cancelAfter, least, most time.Duration
			attempts                 int
		}{{0, 14 * time.Second, 14750 * time.Millisecond, 3}, {2 * time.Second, 2 * time.Second, 2 * time.Second, 1}} {
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			if c.cancelAfter > 0 {
				time.AfterFunc(c.cancelAfter, cancel)
			}
			n.injectAlways(respond(503, "", "Retry-After", "7"))
			_, err := n.client().GetPet(ctx, 1)
			if took, attempts := time.Since(start), len(n.requests()); attempts != c.attempts || took < c.least || took > c.most {
				t.Errorf("%d attempts took %v, want %d and %v to %v", attempts, took, c.attempts, c.least, c.most)
			}
			if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != 503 || errors.Is(err, context.Canceled) != (c.cancelAfter > 0) {
				t.Errorf("got %v", err)
			}
		}
	})
}
