package web

import (
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/internal/admission"
	"animalstore/internal/programtest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// Of the requests without a key, only a limited number per status are logged, and the log says how many were left out.
// Requests with a key are always logged, and so are faults.
func TestRequestsOfStrangersAreSampled(t *testing.T) {
	t.Parallel()
	service := shoptest.Open(t, shoptest.Options{})
	principal, err := service.Authenticate(t.Context(), shoptest.AdminKey)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		const requests = 1000
		for _, c := range []struct {
			name  string
			e     Entry
			lines int
		}{
			{"no key", Entry{Outcome: Outcome{Status: 401, Err: shop.Errorf(shop.MissingAPIKey, "x")}}, admission.StrangerLines.Lines},
			{"too many requests in progress", Entry{Outcome: Outcome{Status: 503, Err: shop.Errorf(shop.Unavailable, "x")}}, admission.StrangerLines.Lines},
			{"a public page", Entry{Outcome: Outcome{Status: 200}}, admission.StrangerLines.Lines},
			{"a fault", Entry{Outcome: Outcome{Status: 500, Err: errors.New("x")}}, requests},
			{"a store that is away", Entry{Outcome: Outcome{Status: 503, Err: shop.UnavailableError(errors.New("x"))}}, requests},
			{"a valid key", Entry{Outcome: Outcome{Status: 403, Err: shop.Errorf(shop.InsufficientScope, "x")}, Principal: principal}, requests},
		} {
			var out programtest.Transcript
			access := &AccessLog{Log: slog.New(slog.NewTextHandler(&out, nil)), Redact: service.Redact}
			for second := range 2 {
				for range requests {
					c.e.Request, c.e.Response, c.e.End = httptest.NewRequest("GET", "/v1/pets", nil), &Recorder{}, time.Now()
					access.Write(c.e)
				}
				if got, want := strings.Count(out.String(), "msg=request "), (second+1)*c.lines; got != want {
					t.Errorf("%s: got %d lines after %d s, want %d", c.name, got, second, want)
				}
				time.Sleep(admission.StrangerLines.Interval)
				synctest.Wait()
			}
			want := 0
			if c.lines < requests {
				want = 2
			}
			if got := strings.Count(out.String(), " requests=990\n"); got != want {
				t.Errorf("%s: got %d lines about requests that were left out, want %d:\n%s", c.name, got, want, out.String())
			}
		}
	})
}
