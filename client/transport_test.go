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
	"slices"
	"strings"
	"testing"
	"time"

	"animalstore/client"
	"animalstore/internal/shoptest"
)

const pet1 = `{"id":1,"name":"Rex","categoryId":1}`

func TestRequestHeaders(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		c := n.client(client.WithUserAgent("shelter/1.0"))
		n.inject(respond(201, pet1), respond(200, "["+pet1+"]", "ETag", `"1"`))
		must(c.CreatePet(t.Context(), client.NewPet{Name: "Rex", CategoryID: 1}))(t)
		must(c.GetPet(t.Context(), 1))(t)
		sent := n.requests()
		for _, r := range sent {
			if r.header.Get("Authorization") != "Bearer "+shoptest.AdminKey || r.header.Get("User-Agent") != "shelter/1.0" ||
				r.header.Get("Accept") != "application/json" || strings.Contains(r.address, shoptest.AdminKey) {
				t.Errorf("%s %s has the headers %v", r.method, r.address, r.header)
			}
		}
		if create := sent[0]; create.address != "/v1/pets" || create.body != `{"name":"Rex","categoryId":1}` ||
			create.header.Get("Content-Type") != "application/json" || len(create.header.Get("Idempotency-Key")) < 20 {
			t.Errorf("created with %+v", create)
		}
		if get := sent[1]; get.address != "/v1/pets?id=1" || get.body != "" || get.header.Get("Idempotency-Key")+get.header.Get("Content-Type") != "" {
			t.Errorf("got with %+v", get)
		}
	})
}

// Retries repeat the request exactly, with the same idempotency key.
func TestRetriesRepeatTheRequest(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		n.inject(dropRequest, cutAfterHeader, respond(504, proxyPage), refuse(409, client.CodeIdempotencyKeyInUse), respond(201, pet1))
		must(n.client().CreatePet(t.Context(), client.NewPet{Name: "Rex", CategoryID: 1}))(t)
		sent := n.requests()
		wantEqual(t, "attempts", len(sent), 5)
		for _, r := range sent {
			if r.header.Get("Idempotency-Key") != sent[0].header.Get("Idempotency-Key") || r.body != sent[0].body || r.body == "" {
				t.Errorf("the retry %+v differs from %+v", r, sent[0])
			}
		}
	})
}

func TestWhichStatusesAreRetried(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		c := n.client(client.WithRetries(1))
		for _, a := range []struct {
			attempts int
			statuses []int
			codes    []client.Code // the error code for each status; if empty, the response is a proxy's error page
		}{
			{1, []int{400, 401, 403, 404, 405}, []client.Code{client.CodeValidationFailed, client.CodeInvalidAPIKey, client.CodeInsufficientScope, client.CodePetNotFound, client.CodeMethodNotAllowed}},
			{1, []int{409, 410, 412, 413}, []client.Code{client.CodePetNotAvailable, client.CodeOperationRemoved, client.CodePreconditionFailed, client.CodePayloadTooLarge}},
			{1, []int{422, 500}, []client.Code{client.CodeIdempotencyKeyReused, client.CodeInternal}},
			{1, []int{400, 408, 500, 501, 520}, make([]client.Code, 5)},
			{2, []int{409, 429, 503}, []client.Code{client.CodeIdempotencyKeyInUse, client.CodeRateLimited, client.CodeUnavailable}},
			{2, []int{429, 502, 503, 504}, make([]client.Code, 4)},
		} {
			for i, status := range a.statuses {
				response, want := refuse(status, a.codes[i]), a.codes[i]
				if want == "" {
					response, want = respond(status, proxyPage, "Content-Type", "text/html", "X-Request-Id", "r1"), client.CodeUnexpectedAnswer
				}
				n.inject(response, response, response)
				_, err := c.PlaceOrder(t.Context(), client.NewOrder{PetID: 1})
				e, ok := errors.AsType[*client.Error](err)
				if attempts := len(n.requests()); !ok || e.Code != want || e.Status != status || e.Message == "" || e.RequestID != "r1" || attempts != a.attempts {
					t.Errorf("%d %s: got %+v after %d attempts, want %d", status, a.codes[i], err, attempts, a.attempts)
				}
			}
		}
		for _, f := range []fault{dropRequest, respond(503, proxyPage)} {
			n.inject(f)
			if _, err := n.client(client.WithRetries(0)).CreatePet(t.Context(), client.NewPet{}); err == nil || len(n.requests()) != 1 {
				t.Errorf("without retries: %v", err)
			}
		}
	})
}

func TestResponsesFromOtherServers(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		c := n.client()
		for name, response := range map[string]fault{
			"a captive portal":             respond(200, "<html>Please log in</html>", "Content-Type", "text/html"),
			"nothing":                      respond(200, ""),
			"another kind of JSON":         respond(200, `"hello"`),
			"two values":                   respond(200, `[] []`),
			"a huge body":                  respond(200, "["+pet1+"]"+strings.Repeat(" ", 9<<20)),
			"no content":                   respond(204, ""),
			"an id that is not an int64":   respond(200, `[{"id":9223372036854775808}]`),
			"not found, says a proxy":      respond(404, proxyPage),
			"not found, with another JSON": respond(404, `{"error":"not found"}`),
			"another status in the body":   respond(404, errorBody(403, client.CodeNotFound)),
			"a teapot":                     respond(418, "short and stout"),
			"an unknown status":            respond(299, ""),
		} {
			n.inject(response)
			pet, err := c.GetPet(t.Context(), 1)
			if pet != (client.Pet{}) || !client.IsCode(err, client.CodeUnexpectedAnswer) || len(n.requests()) != 1 {
				t.Errorf("%s: got %v, %v", name, pet, err)
			}
		}
		n.inject(respond(200, "<html>Please log in</html>"))
		wantCode(t, c.DeletePet(t.Context(), 1), client.CodeUnexpectedAnswer)
		n.inject(respond(200, proxyPage, "Content-Type", "text/html"))
		_, err := c.ExportFile(t.Context(), client.CSV, io.Discard)
		wantCode(t, err, client.CodeUnexpectedAnswer)
		n.inject(respond(502, proxyPage, "Content-Type", "text/html", "Retry-After", "61"))
		_, err = c.Inventory(t.Context())
		wantEqual(t, "message", err.Error(), "animalstore: Unexpected response 502 Bad Gateway (text/html): it does not come from the service. (502 unexpected_answer)")
	})
}

// A redirect is never followed, even to the same host, because following redirects could leak the API key.
func TestRedirectIsNotFollowed(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		for _, status := range []int{301, 302, 303, 307, 308} {
			for _, to := range []string{"http://elsewhere.example/v1/pets", "http://animals.example/v1/pets"} {
				n.inject(respond(status, "", "Location", to))
				_, err := n.client().CreatePet(t.Context(), client.NewPet{Name: "Rex", CategoryID: 1})
				wantCode(t, err, client.CodeUnexpectedAnswer)
				if e, _ := errors.AsType[*client.Error](err); e.Status != status || !strings.Contains(e.Message, to) || len(n.requests()) != 1 {
					t.Errorf("got %v", err)
				}
			}
		}
	})
}

// Nothing that a program might log reveals the API key.
func TestKeyIsNotShown(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		const secret = "ask_live_somebody-elses-key"
		c := n.clientWith(secret, func(int) int { return neverCut }, client.WithRetries(0))
		shown := []string{fmt.Sprintf("%v %+v %#v", c, c, c), fmt.Sprintf("%v %+v %#v", *c, *c, *c)}
		for _, f := range []fault{refuse(401, client.CodeInvalidAPIKey), dropRequest, respond(502, "you sent "+secret)} {
			n.inject(f)
			_, err := c.GetPet(t.Context(), 1)
			shown = append(shown, fmt.Sprintf("%+v %#v", err, err))
		}
		for _, text := range shown {
			if strings.Contains(text, secret) || strings.Contains(text, "<nil>") {
				t.Errorf("%s shows the key or no error", text)
			}
		}
	})
}

// A retry after a lost response never suggests that the lost attempt did nothing.
func TestRetryAfterALostResponse(t *testing.T) {
	for _, c := range []struct {
		name   string
		method string
		faults []fault
		code   client.Code // the expected error code; if empty, see message
		text   string      // part of the expected message; if both are empty, the call succeeds
	}{
		{"deleted by the lost attempt", "DELETE", []fault{dropRequest, refuse(404, client.CodeNotFound)}, "", ""},
		{"deleted before a proxy failed", "DELETE", []fault{respond(502, proxyPage), refuse(404, client.CodeNotFound)}, "", ""},
		{"never there", "DELETE", []fault{refuse(404, client.CodeNotFound)}, client.CodeNotFound, ""},
		{"never there, but rate limited", "DELETE", []fault{refuse(429, client.CodeRateLimited), refuse(404, client.CodeNotFound)}, client.CodeNotFound, ""},
		{"not found, says a proxy", "DELETE", []fault{dropRequest, respond(404, proxyPage)}, client.CodeUnexpectedAnswer, ""},
		{"changed by the lost attempt", "PATCH", []fault{dropRequest, refuse(412, client.CodePreconditionFailed)}, "", "first attempt"},
		{"changed before a proxy failed", "PATCH", []fault{respond(503, proxyPage), refuse(412, client.CodePreconditionFailed)}, client.CodeUnexpectedAnswer, "first attempt"},
		{"changed by others", "PATCH", []fault{refuse(429, client.CodeRateLimited), refuse(412, client.CodePreconditionFailed)}, client.CodePreconditionFailed, ""},
		{"refused by a rate limit", "PATCH", []fault{dropRequest, refuse(429, client.CodeRateLimited, "Retry-After", "61")}, "", "; retried: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			withCannedResponses(t, func(t *testing.T, n *testNetwork) {
				n.inject(c.faults...)
				var err error
				if c.method == "DELETE" {
					err = n.client().DeletePet(t.Context(), 1)
				} else {
					_, err = n.client().UpdatePet(t.Context(), 1, client.PetUpdate{}, client.IfMatch(`"1"`))
				}
				e, _ := errors.AsType[*client.Error](err)
				if (err == nil) != (c.code == "" && c.text == "") || c.code != "" && !client.IsCode(err, c.code) || c.code == "" && e != nil || err != nil && !strings.Contains(err.Error(), c.text) {
					t.Errorf("got %v, want %s %q", err, c.code, c.text)
				}
				if c.text != "" && !client.MayBeDone(err) {
					t.Errorf("%v suggests that nothing was done", err)
				}
			})
		})
	}
}

func TestMayBeDone(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		nil:                                   false,
		io.EOF:                                true,
		io.ErrClosedPipe:                      true,
		&net.OpError{Op: "dial", Err: io.EOF}: false,
		&net.OpError{Op: "read", Err: io.EOF}: true,
		&tls.CertificateVerificationError{Err: io.EOF}:                false,
		&client.Error{Status: 409}:                                    false,
		&client.Error{Status: 503}:                                    true,
		&client.Error{Status: 200, Code: client.CodeUnexpectedAnswer}: true,
	} {
		if got := client.MayBeDone(err); got != want {
			t.Errorf("%v: got %v, want %v", err, got, want)
		}
	}
}

// A refused connection is retried. If the retries run out, the error says so and names the request.
func TestRefusedConnectionIsRetried(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		dials := 0
		refusing := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			dials++
			return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
		}}
		_, err := n.client(client.WithHTTPClient(&http.Client{Transport: refusing}), client.WithRetries(2)).GetPet(t.Context(), 1)
		if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "dial" || dials != 3 || client.MayBeDone(err) {
			t.Errorf("got %v after %d connections", err, dials)
		}
		if text := err.Error(); !strings.HasPrefix(text, "animalstore: ") || !strings.Contains(text, "http://animals.example/v1/pets?id=1") {
			t.Errorf("the message is %q", text)
		}
	})
}

// A call is not retried if the certificate is not trusted, because a retry would fail in the same way.
func TestUntrustedCertificateIsNotRetried(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // do not log the failed handshake
	server.StartTLS()
	t.Cleanup(server.Close)
	dials := 0
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		dials++
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	c := must(client.New(server.URL+"/v1", shoptest.AdminKey, client.WithHTTPClient(&http.Client{Transport: transport})))(t)
	if _, err := c.GetPet(t.Context(), 1); err == nil || dials != 1 {
		t.Errorf("got %v after %d connections", err, dials)
	}
}

// An attempt that gets no response times out after 30 seconds, or two minutes for an import, and is retried.
func TestTimedOutAttemptIsRetried(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		n.inject(hang, respond(201, pet1), hang, respond(200, `{"created":1}`))
		c, start := n.client(), time.Now()
		must(c.CreatePet(t.Context(), client.NewPet{Name: "Rex", CategoryID: 1}))(t)
		imported := time.Now()
		must(c.ImportPets(t.Context(), nil))(t)
		if waits := []time.Duration{imported.Sub(start).Truncate(time.Second), time.Since(imported).Truncate(time.Second)}; !slices.Equal(waits, []time.Duration{30 * time.Second, 2 * time.Minute}) {
			t.Errorf("the attempts timed out after %v", waits)
		}
	})
}

func TestCallEndsWithItsContext(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		ctx, cancel := context.WithCancel(t.Context())
		n.inject(func(w http.ResponseWriter, r *http.Request, service http.Handler) {
			cancel()
			hang(w, r, service)
		})
		if _, err := n.client().GetPet(ctx, 1); !errors.Is(err, context.Canceled) || len(n.requests()) != 1 {
			t.Errorf("got %v", err)
		}
	})
}

// An export is retried until it begins, and it ends with the error of its writer.
func TestExportIsRetriedUntilItBegins(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		n.inject(dropRequest, refuse(503, client.CodeUnavailable), respond(200, "id\r\n", "Content-Type", "text/csv"))
		var got strings.Builder
		if _, err := n.client().ExportFile(t.Context(), client.CSV, &got); err != nil || got.String() != "id\r\n" {
			t.Errorf("got %q, %v", got.String(), err)
		}
		n.inject(respond(200, "id\r\n", "Content-Type", "text/csv"))
		pipe, full := io.Pipe()
		pipe.CloseWithError(io.ErrShortWrite)
		if _, err := n.client().ExportFile(t.Context(), client.CSV, full); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("with a full disk: %v", err)
		}
		n.inject(refuse(401, client.CodeInvalidAPIKey))
		_, err := n.client().ExportFile(t.Context(), client.NDJSON, io.Discard)
		wantCode(t, err, client.CodeInvalidAPIKey)
	})
}
