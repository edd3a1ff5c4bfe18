package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"animalstore/client"
)

func TestNewRejectsBadArguments(t *testing.T) {
	t.Parallel()
	const good = "https://shop.example/v1"
	for _, c := range []struct {
		name, base, key string
		options         []client.Option
	}{
		{"no address", "", adminKey, nil},
		{"the key in place of the address", adminKey, good, nil},
		{"no scheme", "animals.example/v1", adminKey, nil},
		{"another scheme", "ftp://animals.example/v1", adminKey, nil},
		{"no host", "https:///v1", adminKey, nil},
		{"a port alone", "https://:443/v1", adminKey, nil},
		{"no version", "https://animals.example", adminKey, nil},
		{"a host named v1", "https://v1", adminKey, nil},
		{"a path that only ends in v1", "https://animals.example/xv1", adminKey, nil},
		{"another version", "https://animals.example/v2", adminKey, nil},
		{"a user", "https://me:" + adminKey + "@animals.example/v1", adminKey, nil},
		{"a query", good + "?key=" + adminKey, adminKey, nil},
		{"an empty query", good + "?", adminKey, nil},
		{"a fragment", good + "#top", adminKey, nil},
		{"a bad escape", "https://animals.example/%zz/v1", adminKey, nil},
		{"no key", good, "", nil},
		{"a key with a space", good, "configured key", nil},
		{"a key with a line break", good, adminKey + "\r\nX-Evil: 1", nil},
		{"a key that is not ASCII", good, "schlüssel-des-hauses", nil},
		{"no HTTP client", good, adminKey, []client.Option{client.WithHTTPClient(nil)}},
		{"a user agent with a line break", good, adminKey, []client.Option{client.WithUserAgent("a\nb")}},
		{"negative retries", good, adminKey, []client.Option{client.WithRetries(-1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			made, err := client.New(c.base, c.key, c.options...)
			if err == nil || made != nil {
				t.Fatalf("got %v, %v", made, err)
			}
			if text := err.Error(); strings.Contains(text, adminKey) || c.key != "" && strings.Contains(text, c.key) {
				t.Errorf("the message %q shows the key", text)
			}
		})
	}
}

func TestNewAcceptsBaseURLs(t *testing.T) {
	t.Parallel()
	for _, base := range []string{
		"http://localhost:8080/v1", "https://animals.example/v1/", "https://animals.example/shops/7/v1", "http://[::1]:80/v1",
	} {
		if _, err := client.New(base, adminKey); err != nil {
			t.Errorf("%s: %v", base, err)
		}
	}
}

func TestRequestHeaders(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	s.url += "/" // a trailing slash is allowed in a base URL
	c := s.client(client.WithUserAgent("shelter/1.0"))
	pet := must(c.CreatePet(t.Context(), client.NewPet{Name: "Rex", CategoryID: 1}))(t)
	must(c.GetPet(t.Context(), pet.ID))(t)
	sent := s.requests()
	if len(sent) != 2 {
		t.Fatalf("got %d requests", len(sent))
	}
	for _, r := range sent {
		if r.header.Get("Authorization") != "Bearer "+adminKey || r.header.Get("User-Agent") != "shelter/1.0" ||
			r.header.Get("Accept") != "application/json" {
			t.Errorf("%s %s has the headers %v", r.method, r.address, r.header)
		}
		if strings.Contains(r.address, adminKey) {
			t.Errorf("the address %s shows the key", r.address)
		}
	}
	create, get := sent[0], sent[1]
	if create.address != "/v1/pets" || create.body != `{"name":"Rex","categoryId":1}` ||
		create.header.Get("Content-Type") != "application/json" || len(create.header.Get("Idempotency-Key")) < 20 {
		t.Errorf("created with %+v", create)
	}
	if get.address != fmt.Sprintf("/v1/pets?id=%d", pet.ID) || get.body != "" || get.header.Get("Idempotency-Key") != "" {
		t.Errorf("got with %+v", get)
	}
}

// Nothing that a program might log reveals the API key.
func TestKeyIsNotShown(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	const secret = "ask_live_somebody-elses-key"
	c := s.clientWith(secret, client.WithRetries(0))
	_, refused := c.GetPet(t.Context(), 1)
	wantCode(t, refused, client.CodeInvalidAPIKey)
	s.inject(dropRequest)
	_, lost := c.GetPet(t.Context(), 1)
	s.inject(respond(502, "you sent "+secret, "Content-Type", "text/plain"))
	_, echoed := c.GetPet(t.Context(), 1)
	wantCode(t, echoed, client.CodeUnexpectedAnswer)
	if lost == nil {
		t.Error("a lost request returned no error")
	}
	for _, text := range []string{
		fmt.Sprintf("%v %+v %#v", c, c, c), fmt.Sprintf("%v %+v %#v", *c, *c, *c),
		fmt.Sprintf("%+v %#v", refused, refused), fmt.Sprintf("%+v %#v", lost, lost), fmt.Sprintf("%+v %#v", echoed, echoed),
	} {
		if strings.Contains(text, secret) {
			t.Errorf("%s shows the key", text)
		}
	}
}

// A redirect is never followed, even to the same host, because following redirects could leak the API key.
func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	var visits atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) }))
	t.Cleanup(elsewhere.Close)
	s := newTestService(t)
	follows := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return nil },
	}
	c := s.client(client.WithHTTPClient(follows))
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{elsewhere.URL + "/v1/pets", s.url + "/pets"} {
			s.inject(respond(status, "", "Location", to))
			_, err := c.CreatePet(t.Context(), client.NewPet{Name: "Rex", CategoryID: 1})
			wantCode(t, err, client.CodeUnexpectedAnswer)
			if e, _ := errors.AsType[*client.Error](err); e.Status != status || !strings.Contains(e.Message, to) {
				t.Errorf("got %v", err)
			}
			if n := len(s.requests()); n != 1 {
				t.Errorf("sent %d requests", n)
			}
		}
	}
	if visits.Load() != 0 {
		t.Error("a redirect was followed to another host")
	}
}

func TestResponsesFromOtherServers(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c := s.client()
	huge := "[" + strings.Repeat(" ", 9<<20) + "]"
	for _, f := range []struct {
		name     string
		response fault
	}{
		{"a captive portal", respond(200, "<html>Please log in</html>", "Content-Type", "text/html")},
		{"nothing", respond(200, "")},
		{"another kind of JSON", respond(200, `"hello"`)},
		{"two values", respond(200, `[] []`)},
		{"a huge body", respond(200, huge)},
		{"no content", respond(204, "")},
		{"an id that is not an int64", respond(200, `[{"id":9223372036854775808}]`)},
		{"not found, says a proxy", respond(404, proxyPage)},
		{"not found, with another JSON", respond(404, `{"error":"not found"}`)},
		{"another status in the body", respond(404, apiError(403, client.CodeNotFound))},
		{"a teapot", respond(418, "short and stout")},
		{"an unknown status", respond(299, "")},
	} {
		s.inject(f.response)
		pet, err := c.GetPet(t.Context(), 1)
		if pet != (client.Pet{}) || !client.IsCode(err, client.CodeUnexpectedAnswer) {
			t.Errorf("%s: got %v, %v", f.name, pet, err)
		}
		if n := len(s.requests()); n != 1 {
			t.Errorf("%s: %d requests were sent", f.name, n)
		}
	}
	s.inject(respond(200, "<html>Please log in</html>"))
	wantCode(t, c.DeletePet(t.Context(), 1), client.CodeUnexpectedAnswer)
}
