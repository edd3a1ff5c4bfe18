package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"animalstore/client"
	"animalstore/internal/shoptest"
)

// Retries repeat the request exactly, with the same idempotency key. Every request has the right headers.
func TestRetriesRepeatTheRequest(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		c := n.client(client.WithUserAgent("shelter/1.0"))
		n.inject(dropRequest, respond(201, "{", "Content-Length", "9"), respond(504, proxyPage),
			refuse(409, client.CodeIdempotencyKeyInUse), respond(201, pet1), respond(200, "["+pet1+"]"))
		shoptest.Must(c.CreatePet(t.Context(), client.NewPet{Name: "Rex", CategoryID: 1}))(t)
		shoptest.Must(c.GetPet(t.Context(), 1))(t)
		sent := n.requests()
		wantEqual(t, "attempts", len(sent), 6)
		for i, r := range sent {
			header := r.header.Get
			wantEqual(t, "headers", []string{header("Authorization"), header("User-Agent"), header("Accept")},
				[]string{"Bearer " + shoptest.AdminKey, "shelter/1.0", "application/json"})
			want := []string{"/v1/pets", `{"name":"Rex","categoryId":1}`, "application/json", sent[0].header.Get("Idempotency-Key")}
			if i == 5 {
				want = []string{"/v1/pets?id=1", "", "", ""}
			} else if len(want[3]) < 20 {
				t.Errorf("the idempotency key is %q", want[3])
			}
			wantEqual(t, "request", []string{r.address, r.body, header("Content-Type"), header("Idempotency-Key")}, want)
		}
	})
}

func TestWhichStatusesAreRetried(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		for _, a := range []struct {
			status, attempts int
			code             client.Code // if empty, the response is a proxy's error page
		}{
			{400, 1, client.CodeValidationFailed}, {401, 1, client.CodeInvalidAPIKey}, {409, 1, client.CodePetNotAvailable},
			{412, 1, client.CodePreconditionFailed}, {422, 1, client.CodeIdempotencyKeyReused}, {500, 1, client.CodeInternal},
			{400, 1, ""}, {408, 1, ""}, {500, 1, ""}, {501, 1, ""},
			{409, 2, client.CodeIdempotencyKeyInUse}, {429, 2, client.CodeRateLimited}, {503, 2, client.CodeUnavailable},
			{429, 2, ""}, {502, 2, ""}, {503, 2, ""}, {504, 2, ""},
		} {
			response, want := refuse(a.status, a.code), a.code
			if want == "" {
				response, want = respond(a.status, proxyPage, "Content-Type", "text/html", "X-Request-Id", "r1"), client.CodeUnexpectedAnswer
			}
			n.injectAlways(response)
			_, err := n.client(client.WithRetries(1)).PlaceOrder(t.Context(), client.NewOrder{PetID: 1})
			wantEqual(t, fmt.Sprint("attempts after ", err), len(n.requests()), a.attempts)
			e, ok := errors.AsType[*client.Error](err)
			if !ok || e.Code != want || e.Status != a.status || e.Message == "" || e.RequestID != "r1" {
				t.Errorf("got %+v, want %d %s", err, a.status, want)
			}
		}
	})
}

func TestBackoffGrows(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		const ms = time.Millisecond
		most := []time.Duration{250 * ms, 500 * ms, 1000 * ms, 2000 * ms, 4000 * ms, 5000 * ms, 5000 * ms}
		longest := make([]time.Duration, len(most))
		for range 100 {
			n.injectAlways(respond(502, ""))
			n.client(client.WithRetries(len(most))).GetPet(t.Context(), 1)
			for i, wait := range n.waits() {
				longest[i] = max(longest[i], wait)
			}
		}
		for i, wait := range longest {
			// By chance, the longest of 100 waits is below most[i]/2 in only one of 2^97 test runs.
			if wait >= most[i] || wait < most[i]/2 {
				t.Errorf("wait %d took up to %v, want up to %v", i, wait, most[i])
			}
		}
		// Without an option, a call is retried 4 times.
		for retries, options := range map[int][]client.Option{4: nil, 50: {client.WithRetries(50)}} {
			n.injectAlways(respond(503, ""))
			n.client(options...).GetPet(t.Context(), 1)
			wantEqual(t, "retries", len(n.waits()), retries)
		}
	})
}

// A call waits as long as Retry-After says. If that is longer than a minute, the call fails immediately.
func TestRetryAfterIsHonoured(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		for _, c := range []struct {
			retryAfter  string
			least, most time.Duration // the expected range for the wait; if most is zero, the call fails immediately
		}{
			{"7", 7 * time.Second, 7250 * time.Millisecond},
			{"a date", 6 * time.Second, 7250 * time.Millisecond},
			{"Fri, 31 Dec 1999 23:59:59 GMT", 0, 250 * time.Millisecond},
			{"-7", 0, 250 * time.Millisecond},
			{"61", time.Minute, 0},
			{"99999999999999999999", time.Minute, 0},
		} {
			for _, status := range []int{429, 503} {
				n.injectAlways(func(w http.ResponseWriter, r *http.Request, service http.Handler) {
					date := time.Now().Add(7 * time.Second).UTC().Format(http.TimeFormat)
					respond(status, "", "Retry-After", strings.Replace(c.retryAfter, "a date", date, 1))(w, r, service)
				})
				start := time.Now()
				_, err := n.client(client.WithRetries(1)).GetPet(t.Context(), 1)
				took, waited := time.Since(start), len(n.requests()) > 1
				if waited != (c.most > 0) || waited && (took < c.least || took >= c.most) || !waited && took > 0 {
					t.Errorf("%d %s: waited %v, want %v to %v", status, c.retryAfter, took, c.least, c.most)
				}
				e, _ := errors.AsType[*client.Error](err)
				if e.Status != status || e.RetryAfter < c.least || waited && e.RetryAfter > c.most {
					t.Errorf("%d %s: got %+v", status, c.retryAfter, e)
				}
			}
		}
	})
}

// If a response is lost and the retry fails, the error never suggests that the first attempt did nothing.
func TestRetryAfterALostResponse(t *testing.T) {
	notFound, changed := refuse(404, client.CodeNotFound), refuse(412, client.CodePreconditionFailed)
	limited, busy := refuse(429, client.CodeRateLimited), refuse(429, client.CodeRateLimited, "Retry-After", "61")
	const unexpected = client.CodeUnexpectedAnswer
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		for _, c := range []struct {
			name   string
			remove bool // delete the animal instead of changing it
			faults []fault
			code   client.Code // the expected error code; empty if the error has no code or the call succeeds
			text   string      // part of the expected message; if code and text are both empty, the call succeeds
		}{
			{"deleted by the lost attempt", true, []fault{dropRequest, notFound}, "", ""},
			{"deleted before a proxy failed", true, []fault{respond(502, proxyPage), notFound}, "", ""},
			{"never there", true, []fault{notFound}, client.CodeNotFound, ""},
			{"never there, but rate limited", true, []fault{limited, notFound}, client.CodeNotFound, ""},
			{"not found, says a proxy", true, []fault{dropRequest, respond(404, proxyPage)}, unexpected, ""},
			{"changed by the lost attempt", false, []fault{dropRequest, changed}, "", "first attempt"},
			{"changed before a proxy failed", false, []fault{respond(503, proxyPage), changed}, unexpected, "first attempt"},
			{"changed by others", false, []fault{limited, changed}, client.CodePreconditionFailed, ""},
			{"refused by a rate limit", false, []fault{dropRequest, busy}, "", "; retried: "},
		} {
			n.inject(c.faults...)
			var err error
			if c.remove {
				err = n.client().DeletePet(t.Context(), 1)
			} else {
				_, err = n.client().UpdatePet(t.Context(), 1, client.PetUpdate{}, client.IfMatch(`"1"`))
			}
			e, answered := errors.AsType[*client.Error](err)
			succeeds := c.code == "" && c.text == ""
			if (err == nil) != succeeds || answered != (c.code != "") || answered && e.Code != c.code {
				t.Errorf("%s: got %v, want %q", c.name, err, c.code)
			}
			if c.text != "" && (!strings.Contains(fmt.Sprint(err), c.text) || !client.MayBeDone(err)) {
				t.Errorf("%s: %v suggests that nothing was done", c.name, err)
			}
		}
	})
}

func TestMayBeDone(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		nil:                                   false,
		io.EOF:                                true,
		&net.OpError{Op: "dial", Err: io.EOF}: false,
		&net.OpError{Op: "read", Err: io.EOF}: true,
		&tls.CertificateVerificationError{Err: io.EOF}:                false,
		&client.Error{Status: 409}:                                    false,
		&client.Error{Status: 503}:                                    true,
		&client.Error{Status: 200, Code: client.CodeUnexpectedAnswer}: true,
	} {
		wantEqual(t, fmt.Sprint(err), client.MayBeDone(err), want)
	}
}

// A refused connection is retried. If the retries run out, the error names the request and the reason.
func TestRefusedConnectionIsRetried(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		dials := 0
		refusing := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			dials++
			return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
		}}
		_, err := n.client(client.WithHTTPClient(&http.Client{Transport: refusing}), client.WithRetries(2)).GetPet(t.Context(), 1)
		wantEqual(t, "connections", dials, 3)
		const want = `animalstore: Get "http://animals.example/v1/pets?id=1": dial: connection refused`
		if wantEqual(t, "error", err.Error(), want); client.MayBeDone(err) {
			t.Error("the call may be done")
		}
	})
}

// A call is not retried if the certificate is not trusted, because a retry would fail in the same way.
func TestUntrustedCertificateIsNotRetried(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // do not log the failed handshake
	dials := 0
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			dials++
		}
	}
	server.StartTLS()
	_, err := shoptest.Must(client.New(server.URL+"/v1", shoptest.AdminKey))(t).GetPet(t.Context(), 1)
	server.Close()
	if err == nil || dials != 1 {
		t.Errorf("got %v after %d connections", err, dials)
	}
}

// An attempt that gets no response times out after 30 seconds, or two minutes for an import, and is retried.
func TestTimedOutAttemptIsRetried(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		n.inject(hang, respond(201, pet1), hang, respond(200, `{"created":1}`))
		shoptest.Must(n.client().CreatePet(t.Context(), client.NewPet{Name: "Rex", CategoryID: 1}))(t)
		shoptest.Must(n.client().ImportPets(t.Context(), nil))(t)
		waits := n.waits()
		got := []time.Duration{waits[0].Truncate(time.Second), waits[2].Truncate(time.Second)}
		wantEqual(t, "timeouts", got, []time.Duration{30 * time.Second, 2 * time.Minute})
	})
}

// An export is retried only until its first bytes arrive. If the writer fails, the export fails with the writer's
// error.
func TestExportIsRetriedUntilItBegins(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		file := respond(200, "id\r\n", "Content-Type", "text/csv")
		n.inject(dropRequest, refuse(503, client.CodeUnavailable), file, file, refuse(401, client.CodeInvalidAPIKey))
		var got strings.Builder
		shoptest.Must(n.client().ExportFile(t.Context(), client.CSV, &got))(t)
		wantEqual(t, "file", got.String(), "id\r\n")
		pipe, full := io.Pipe()
		pipe.CloseWithError(io.ErrShortWrite)
		if _, err := n.client().ExportFile(t.Context(), client.CSV, full); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("with a full disk: %v", err)
		}
		_, err := n.client().ExportFile(t.Context(), client.NDJSON, io.Discard)
		wantCode(t, err, client.CodeInvalidAPIKey)
	})
}
