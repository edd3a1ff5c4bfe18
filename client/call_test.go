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
		must(client.New(base, key))(t)
	}
}

// Arguments that cannot be sent are refused before anything is sent.
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
		errs["an unknown format to check"] = c.CheckFile(ctx, "", nil)
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

// Retries repeat the request exactly, with the same idempotency key. Every request has the right headers.
func TestRetriesRepeatTheRequest(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		c := n.client(client.WithUserAgent("shelter/1.0"))
		n.inject(dropRequest, respond(201, "{", "Content-Length", "9"), respond(504, proxyPage),
			refuse(409, client.CodeIdempotencyKeyInUse), respond(201, pet1), respond(200, "["+pet1+"]"))
		must(c.CreatePet(t.Context(), client.NewPet{Name: "Rex", CategoryID: 1}))(t)
		must(c.GetPet(t.Context(), 1))(t)
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
			if wait >= most[i] || wait < most[i]/2 { // by chance, the latter happens only once in 2^97 test runs
				t.Errorf("wait %d took up to %v, want up to %v", i, wait, most[i])
			}
		}
		for retries, options := range map[int][]client.Option{4: nil, 50: {client.WithRetries(50)}} { // 4 is the default
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

// A call ends with its context, both while it waits for a response and while it waits for a retry. It does
// not wait for a retry that its deadline rules out.
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
		c := n.clientWith(secret, neverCut, client.WithRetries(0)) // the server reports a retry as unexpected
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

// A retry after a lost response never suggests that the lost attempt did nothing.
func TestRetryAfterALostResponse(t *testing.T) {
	notFound, changed := refuse(404, client.CodeNotFound), refuse(412, client.CodePreconditionFailed)
	limited, busy := refuse(429, client.CodeRateLimited), refuse(429, client.CodeRateLimited, "Retry-After", "61")
	const unexpected = client.CodeUnexpectedAnswer
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		for _, c := range []struct {
			name   string
			remove bool // delete or change
			faults []fault
			code   client.Code // the expected error code; if empty, see message
			text   string      // part of the expected message; if both are empty, the call succeeds
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

// A refused connection is retried. If the retries run out, the error says so and names the request.
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
	_, err := must(client.New(server.URL+"/v1", shoptest.AdminKey))(t).GetPet(t.Context(), 1)
	server.Close()
	if err == nil || dials != 1 {
		t.Errorf("got %v after %d connections", err, dials)
	}
}

// An attempt that gets no response times out after 30 seconds, or two minutes for an import, and is retried.
func TestTimedOutAttemptIsRetried(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		n.inject(hang, respond(201, pet1), hang, respond(200, `{"created":1}`))
		must(n.client().CreatePet(t.Context(), client.NewPet{Name: "Rex", CategoryID: 1}))(t)
		must(n.client().ImportPets(t.Context(), nil))(t)
		waits := n.waits()
		got := []time.Duration{waits[0].Truncate(time.Second), waits[2].Truncate(time.Second)}
		wantEqual(t, "timeouts", got, []time.Duration{30 * time.Second, 2 * time.Minute})
	})
}

// An export is retried until it begins, and it ends with the error of its writer.
func TestExportIsRetriedUntilItBegins(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		file := respond(200, "id\r\n", "Content-Type", "text/csv")
		n.inject(dropRequest, refuse(503, client.CodeUnavailable), file, file, refuse(401, client.CodeInvalidAPIKey))
		var got strings.Builder
		must(n.client().ExportFile(t.Context(), client.CSV, &got))(t)
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

// page returns a response with one animal and these Link headers.
func page(id int, links ...string) fault {
	return func(w http.ResponseWriter, r *http.Request, service http.Handler) {
		w.Header()["Link"] = links
		respond(200, fmt.Sprintf(`[{"id":%d}]`, id))(w, r, service)
	}
}

const next = `</v1/pets?cursor=c1>; rel="next"`

// A page that is lost is fetched again, but a permanent error ends the iteration.
func TestPetsIteratesAllPages(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		pets := n.client().Pets(t.Context(), client.PetQuery{})
		for range 2 { // the sequence can be iterated more than once
			n.inject(page(2, next), page(1))
			wantEqual(t, "animals", collect(t, pets), []client.Pet{{ID: 2}, {ID: 1}})
			sent := n.requests()
			wantEqual(t, "first page", sent[0].address, "/v1/pets?limit=100")
			wantEqual(t, "second page", sent[1].address, "/v1/pets?cursor=c1&limit=100")
		}
		n.inject(page(2, next)) // no page is fetched that the caller does not need
		for range pets {
			break
		}
		last := page(1, `<?cursor=c2>; rel="next"`)
		n.inject(page(2, next), dropRequest, respond(503, proxyPage), last, refuse(403, client.CodeInsufficientScope))
		got, err := lastError(pets)
		wantCode(t, err, client.CodeInsufficientScope)
		wantEqual(t, "animals before the error", got, 2)
	})
}

func TestLinkHeaderVariants(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		const target = "<http://animals.example/v1/pets?cursor=c1>"
		for _, l := range []struct {
			name  string
			links []string
			pages int
		}{
			{"without quotes", []string{target + ";rel=next"}, 2},
			{"in capitals", []string{target + `; REL="NEXT"`}, 2},
			{"with two relations", []string{target + `; rel="last next"`}, 2},
			{"in the second header", []string{`</v1>; rel="first"`, target + `; rel="next"`}, 2},
			{"behind commas", []string{`</v1?q=a,b;c>; title="x, <y>"; rel="first",, ` + target + `; title="a;b"; rel="next"`}, 2},
			{"another relation", []string{target + `; rel="prev"; x="next"`}, 1},
			{"a longer relation", []string{target + `; rel="next-archive"`}, 1},
			{"nonsense", []string{"", "<", ">", `"`, "<<>;,=;rel"}, 1},
		} {
			n.inject(page(2, l.links...), page(1))
			wantEqual(t, l.name+": pages", len(collect(t, n.client().Pets(t.Context(), client.PetQuery{}))), l.pages)
		}
		for _, link := range []string{`<>; rel="next"`, `<%zz?cursor=1>; rel="next"`, `</v1/pets?cursor=>; rel="next"`} {
			n.inject(page(2, link))
			_, _, err := n.client().ListPets(t.Context(), client.PetQuery{})
			wantCode(t, err, client.CodeUnexpectedAnswer) // if the list ended here without an error, animals would be missing
		}
		n.inject(page(2, next), page(1, next)) // a page that links to itself would be fetched forever
		_, err := lastError(n.client().Pets(t.Context(), client.PetQuery{}))
		wantCode(t, err, client.CodeUnexpectedAnswer)
	})
}

// A link to another host is not followed. All requests go to the base URL, so the other host never receives
// the API key.
func TestPagesStayOnTheBaseURL(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		n.inject(page(2, `<https://elsewhere.example/v1/pets?cursor=c1>; rel="next"`), page(1))
		wantEqual(t, "animals", collect(t, n.client().Pets(t.Context(), client.PetQuery{})), []client.Pet{{ID: 2}, {ID: 1}})
		for _, r := range n.requests() {
			wantEqual(t, "host", r.host, "animals.example")
		}
	})
}
