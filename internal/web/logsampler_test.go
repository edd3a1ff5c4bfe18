package web

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// Requests without a key get a limited number of lines per status, and the log says how many were left out.
// Requests with a key and faults are always logged.
func TestRequestsOfStrangersAreSampled(t *testing.T) {
	t.Parallel()
	service := shoptest.Open(t, shoptest.Options{})
	principal, err := service.Authenticate(t.Context(), shoptest.AdminKey)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		access := &AccessLog{Log: slog.New(slog.NewTextHandler(&out, nil)), Redact: service.Redact}
		const requests = 1000
		for _, c := range []struct {
			name  string
			e     Entry
			lines int
		}{
			{"no key", Entry{Outcome: Outcome{Status: 401, Err: shop.Errorf(shop.MissingAPIKey, "x")}}, sampledLines},
			{"too many requests in progress", Entry{Outcome: Outcome{Status: 503, Err: shop.Errorf(shop.Unavailable, "x")}}, sampledLines},
			{"a public page", Entry{Outcome: Outcome{Status: 200}}, sampledLines},
			{"a fault", Entry{Outcome: Outcome{Status: 500, Err: errors.New("x")}}, requests},
			{"a store that is away", Entry{Outcome: Outcome{Status: 503, Err: shop.UnavailableError(errors.New("x"))}}, requests},
			{"a valid key", Entry{Outcome: Outcome{Status: 403, Err: shop.Errorf(shop.InsufficientScope, "x")}, Principal: principal}, requests},
		} {
			for range 2 { // a second later, lines are written again
				out.Reset()
				for range requests {
					c.e.Request, c.e.Response, c.e.End = httptest.NewRequest("GET", "/v1/pets", nil), &Recorder{}, time.Now()
					access.Write(c.e)
				}
				if got := strings.Count(out.String(), "msg=request "); got != c.lines {
					t.Errorf("%s: got %d lines for %d requests, want %d", c.name, got, requests, c.lines)
				}
				out.Reset()
				time.Sleep(sampleInterval)
				synctest.Wait()
				if got := strings.Contains(out.String(), " requests=990\n"); got != (c.lines < requests) {
					t.Errorf("%s: got %q, want the number of requests that were left out", c.name, out.String())
				}
			}
		}
	})
}
