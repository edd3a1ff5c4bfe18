package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/client"
)

// These tests run in virtual time, which does not advance during network I/O. They therefore use canned
// responses instead of a network.

// cannedService is a transport that sends the same response to every request and records the time of each
// request.
type cannedService struct {
	status       int
	retryAfter   func() string
	requestTimes []time.Time
}

func (r *cannedService) RoundTrip(*http.Request) (*http.Response, error) {
	r.requestTimes = append(r.requestTimes, time.Now())
	response := &http.Response{StatusCode: r.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}
	if r.retryAfter != nil {
		response.Header.Set("Retry-After", r.retryAfter())
	}
	return response, nil
}

func (r *cannedService) client(t *testing.T, options ...client.Option) *client.Client {
	t.Helper()
	own := client.WithHTTPClient(&http.Client{Transport: r})
	return must(client.New("http://animals.example/v1", adminKey, append(options, own)...))(t)
}

// always returns a function that always returns the given text.
func always(text string) func() string { return func() string { return text } }

func TestBackoffGrows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		most := []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second}
		longest := make([]time.Duration, len(most))
		for range 200 {
			service := &cannedService{status: 502}
			if _, err := service.client(t, client.WithRetries(len(most))).GetPet(t.Context(), 1); err == nil {
				t.Fatal("got no error")
			}
			if len(service.requestTimes) != len(most)+1 {
				t.Fatalf("made %d attempts", len(service.requestTimes))
			}
			for i := range most {
				wait := service.requestTimes[i+1].Sub(service.requestTimes[i])
				if wait < 0 || wait >= most[i] {
					t.Errorf("wait %d took %v, want at most %v", i, wait, most[i])
				}
				longest[i] = max(longest[i], wait)
			}
		}
		for i, wait := range longest {
			if wait < most[i]/2 { // by chance, this happens only once in 2^200 test runs
				t.Errorf("wait %d never took more than %v, want up to %v", i, wait, most[i])
			}
		}
	})
}

func TestDefaultRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &cannedService{status: 503}
		if _, err := service.client(t).GetPet(t.Context(), 1); err == nil || len(service.requestTimes) != 5 {
			t.Errorf("got %v after %d attempts", err, len(service.requestTimes))
		}
		service = &cannedService{status: 503}
		if _, err := service.client(t, client.WithRetries(50)).GetPet(t.Context(), 1); err == nil || len(service.requestTimes) != 51 {
			t.Errorf("got %v after %d attempts", err, len(service.requestTimes))
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	inSevenSeconds := func() string { return time.Now().Add(7 * time.Second).UTC().Format(http.TimeFormat) }
	for _, c := range []struct {
		name        string
		retryAfter  func() string
		least, most time.Duration // the expected range for the first wait
	}{
		{"seconds", always("7"), 7 * time.Second, 7250 * time.Millisecond},
		{"a date", inSevenSeconds, 6 * time.Second, 7250 * time.Millisecond},
		{"nothing", always("0"), 0, 250 * time.Millisecond},
		{"a past date", always("Fri, 31 Dec 1999 23:59:59 GMT"), 0, 250 * time.Millisecond},
		{"nonsense", always("soon"), 0, 250 * time.Millisecond},
		{"a negative number", always("-7"), 0, 250 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for _, status := range []int{429, 503} {
					service := &cannedService{status: status, retryAfter: c.retryAfter}
					_, err := service.client(t, client.WithRetries(1)).GetPet(t.Context(), 1)
					e, _ := errors.AsType[*client.Error](err)
					if len(service.requestTimes) != 2 {
						t.Fatalf("made %d attempts", len(service.requestTimes))
					}
					if wait := service.requestTimes[1].Sub(service.requestTimes[0]); wait < c.least || wait >= c.most {
						t.Errorf("%d: waited %v", status, wait)
					}
					if e.Status != status || e.RetryAfter < c.least || e.RetryAfter > c.most {
						t.Errorf("%d: got %+v", status, e)
					}
				}
			})
		})
	}
}

// If Retry-After is longer than a minute, the call fails immediately instead of waiting.
func TestLongRetryAfterFailsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, text := range []string{"3600", "61", "2147483647", "99999999999999999999"} {
			service := &cannedService{status: 429, retryAfter: always(text)}
			start := time.Now()
			_, err := service.client(t).GetPet(t.Context(), 1)
			if e, _ := errors.AsType[*client.Error](err); len(service.requestTimes) != 1 || !time.Now().Equal(start) || e.RetryAfter < time.Minute {
				t.Errorf("%s: got %+v after %d attempts and %v", text, err, len(service.requestTimes), time.Since(start))
			}
		}
	})
}

func TestBackoffEndsBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		service := &cannedService{status: 503, retryAfter: always("7")}
		_, err := service.client(t).GetPet(ctx, 1)
		if took := time.Since(start); len(service.requestTimes) != 3 || took > 14750*time.Millisecond {
			t.Errorf("%d attempts took %v", len(service.requestTimes), took)
		}
		if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != 503 {
			t.Errorf("got %v", err)
		}
	})
}

func TestCancelDuringBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Second, cancel)
		service := &cannedService{status: 503, retryAfter: always("7")}
		_, err := service.client(t).GetPet(ctx, 1)
		if took := time.Since(start); len(service.requestTimes) != 1 || took != 2*time.Second {
			t.Errorf("%d attempts took %v", len(service.requestTimes), took)
		}
		e, ok := errors.AsType[*client.Error](err)
		if !ok || e.Status != 503 || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}
