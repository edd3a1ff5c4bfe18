package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"animalstore/client"
	"animalstore/internal/shoptest"
)

const pet1 = `{"id":1,"name":"Rex","categoryId":1}`

func TestNewRejectsBadArguments(t *testing.T) {
	t.Parallel()
	const good, key = "https://shop.example/v1", shoptest.AdminKey
	for _, c := range []struct {
		name, base, key string
		options         []client.Option
	}{
		{"the key in place of the address", key, good, nil},
		{"another scheme", "ftp://animals.example/v1", key, nil},
		{"a port alone", "https://:443/v1", key, nil},
		{"a path that only ends in v1", "https://animals.example/xv1", key, nil},
		{"a user", "https://me:" + key + "@animals.example/v1", key, nil},
		{"a query", good + "?key=" + key, key, nil},
		{"a fragment", good + "#top", key, nil},
		{"a bad escape", "https://animals.example/%zz/v1", key, nil},
		{"no key", good, "", nil},
		{"a key with a line break", good, key + "\r\nX-Evil: 1", nil},
		{"a key that is not ASCII", good, "schlüssel-des-hauses", nil},
		{"no HTTP client", good, key, []client.Option{client.WithHTTPClient(nil)}},
		{"a user agent with a line break", good, key, []client.Option{client.WithUserAgent("a\nb")}},
		{"negative retries", good, key, []client.Option{client.WithRetries(-1)}},
	} {
		made, err := client.New(c.base, c.key, c.options...)
		if err == nil || made != nil || strings.Contains(err.Error(), key) || c.key != "" && strings.Contains(err.Error(), c.key) {
			t.Errorf("%s: got %v, %v; the message must not show the key", c.name, made, err)
		}
	}
	for _, base := range []string{"http://localhost:8080/v1", "https://animals.example/shops/7/v1/", "http://[::1]:80/v1"} {
		shoptest.Must(client.New(base, key))(t)
	}
}

// Invalid arguments are refused before any request is sent.
func TestBadArgumentsAreNotSent(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		c, ctx := n.client(), t.Context()
		errs := map[string]error{}
		for _, name := range []string{"", strings.Repeat("x", 256), "a\nb", "schlüssel"} {
			_, errs["the idempotency key "+name] = c.CreatePet(ctx, client.NewPet{}, client.IdempotencyKey(name))
		}
		for _, tag := range []string{"", "\"a\nb\""} { // without an ETag, the deletion would be unconditional
			errs["the ETag "+tag] = c.DeletePet(ctx, 1, client.IfMatch(tag))
		}
		_, errs["a time that JSON cannot represent"] = c.CreateKey(ctx, client.NewKey{ExpiresAt: time.Unix(1e12, 0)})
		_, errs["an unknown format to import"] = c.ImportFile(ctx, "xml", nil)
		_, errs["an unknown format to export"] = c.ExportFile(ctx, "xml", io.Discard)
		_, errs["an unknown format to check"] = c.CheckFile(ctx, "", nil)
		_, errs["an upsert that is no import"] = c.CreatePet(ctx, client.NewPet{}, client.Upsert())
		for _, after := range []string{"x", "-1", "1234567890123456789", "1\r\nX-Evil: 1"} {
			_, errs["the position "+after] = lastError(c.Follow(ctx, after, client.EventFilter{}))
		}
		for what, err := range errs {
			if err == nil {
				t.Errorf("%q was accepted", what)
			}
		}
	})
}

// A call ends when its context ends, whether the call is waiting for a response or for the next retry. If the deadline
// would pass before the next retry, the call ends at once.
func TestCallEndsWithItsContext(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		const second = time.Second
		for _, c := range []struct {
			fault                    fault
			cancelAfter, least, most time.Duration
			attempts, status         int
		}{
			{respond(503, "", "Retry-After", "7"), 0, 14 * second, 14750 * time.Millisecond, 3, 503},
			{respond(503, "", "Retry-After", "7"), 2 * second, 2 * second, 2 * second, 1, 503},
			{hang, 2 * second, 2 * second, 2 * second, 1, 0},
		} {
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 15*second)
			defer cancel()
			if c.cancelAfter > 0 {
				time.AfterFunc(c.cancelAfter, cancel)
			}
			n.injectAlways(c.fault)
			_, err := n.client().GetPet(ctx, 1)
			if took, attempts := time.Since(start), len(n.requests()); attempts != c.attempts || took < c.least || took > c.most {
				t.Errorf("%d attempts took %v, want %d and %v to %v", attempts, took, c.attempts, c.least, c.most)
			}
			wantEqual(t, fmt.Sprint(err, ": the call was cancelled"), errors.Is(err, context.Canceled), c.cancelAfter > 0)
			if e, ok := errors.AsType[*client.Error](err); ok != (c.status > 0) || ok && e.Status != c.status {
				t.Errorf("got %v, want the status %d", err, c.status)
			}
		}
	})
}

func TestResponsesFromOtherServers(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		c := n.client()
		for name, response := range map[string]fault{
			"a captive portal":             respond(200, "<html>Please log in</html>", "Content-Type", "text/html"),
			"two values":                   respond(200, `[] []`),
			"a huge body":                  respond(200, "["+pet1+"]"+strings.Repeat(" ", 9<<20)),
			"an id that is not an int64":   respond(200, `[{"id":9223372036854775808}]`),
			"not found, with another JSON": respond(404, `{"error":"not found"}`),
			"another status in the body":   respond(404, errorBody(403, client.CodeNotFound)),
			"an unknown status":            respond(299, ""),
		} {
			n.inject(response)
			pet, err := c.GetPet(t.Context(), 1)
			if pet != (client.Pet{}) || !client.IsCode(err, client.CodeUnexpectedAnswer) || len(n.requests()) != 1 {
				t.Errorf("%s: got %v, %v", name, pet, err)
			}
		}
		n.inject(respond(200, "<html>Please log in</html>"), respond(200, proxyPage, "Content-Type", "text/html"),
			respond(502, proxyPage, "Content-Type", "text/html", "Retry-After", "61"))
		wantCode(t, c.DeletePet(t.Context(), 1), client.CodeUnexpectedAnswer)
		_, err := c.ExportFile(t.Context(), client.CSV, io.Discard)
		wantCode(t, err, client.CodeUnexpectedAnswer)
		_, err = c.Inventory(t.Context())
		const want = "Unexpected response 502 Bad Gateway (text/html): it does not come from the service. (502 unexpected_answer)"
		wantEqual(t, "message", err.Error(), "animalstore: "+want)
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
				if e, _ := errors.AsType[*client.Error](err); e.Status != status || !strings.Contains(e.Message, to) {
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
		// Retries are turned off, because the server would report a retry as an unexpected request.
		c := n.clientWith(secret, neverCut, client.WithRetries(0))
		shown := []string{fmt.Sprintf("%v %+v %#v", c, c, c), fmt.Sprintf("%v %+v %#v", *c, *c, *c)}
		for _, f := range []fault{refuse(401, client.CodeInvalidAPIKey), dropRequest, respond(502, "you sent "+secret)} {
			n.inject(f)
			_, err := c.GetPet(t.Context(), 1)
			shown = append(shown, fmt.Sprintf("%+v %#v", err, err), n.requests()[0].address)
		}
		for _, text := range shown {
			if strings.Contains(text, secret) || strings.Contains(text, "<nil>") {
				t.Errorf("%s shows the key or no error", text)
			}
		}
	})
}

const next = `</v1/pets?cursor=c1>; rel="next"`
