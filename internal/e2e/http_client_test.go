package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// pet is the JSON representation of an animal.
type pet struct {
	ID         int64  `json:"id,omitempty"`
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
	Status     string `json:"status,omitempty"`
}

// json returns the request body for creating the animal.
func (p pet) json() string {
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // cannot happen because the struct can always be encoded
	}
	return string(body)
}

// response is an HTTP response whose body has already been read.
type response struct {
	status int
	header http.Header
	body   string
}

func (a response) String() string { return fmt.Sprintf("%d %s", a.status, strings.TrimSpace(a.body)) }

// send sends one request and fails the test if it gets no response. If key is empty, the request has no
// Authorization header. Each header field has the form "Name: value".
func (p *program) send(method, path, key, body string, fields ...string) response {
	p.t.Helper()
	a, err := p.try(method, path, key, body, fields...)
	if err != nil {
		p.t.Fatal(err)
	}
	return a
}

// try is like send but returns an error if it gets no response.
func (p *program) try(method, path, key, body string, fields ...string) (response, error) {
	if strings.HasPrefix(path, "/") {
		path = p.url + path
	}
	request, err := http.NewRequest(method, path, strings.NewReader(body))
	if err != nil {
		return response{}, err
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		if name == "Host" {
			request.Host = value
		}
		request.Header.Set(name, value)
	}
	httpResponse, err := p.client.Do(request)
	if err != nil {
		return response{}, err
	}
	defer httpResponse.Body.Close()
	content, err := io.ReadAll(httpResponse.Body)
	if err != nil {
		return response{}, fmt.Errorf("%s %s: incomplete response: %w", method, path, err)
	}
	return response{httpResponse.StatusCode, httpResponse.Header, string(content)}, nil
}

// get sends a GET request with the configured key and checks that the status is 200.
func (p *program) get(path string) response {
	p.t.Helper()
	a := p.send("GET", path, adminKey, "")
	expectStatus(p.t, a, http.StatusOK)
	return a
}

// create creates an animal with the configured key and checks that the status is 201.
func (p *program) create(n pet) (pet, response) {
	p.t.Helper()
	a := p.send("POST", "/v1/pets", adminKey, n.json())
	expectStatus(p.t, a, http.StatusCreated)
	return decode[pet](p.t, a.body), a
}

var nextPage = regexp.MustCompile(`<([^>]+)>; rel="next"`)

// walk lists all animals by following the links to the next pages.
func (p *program) walk() []pet {
	p.t.Helper()
	var all []pet
	for url := "/v1/pets?limit=100"; url != ""; {
		a := p.get(url)
		all = append(all, decode[[]pet](p.t, a.body)...)
		url = ""
		if next := nextPage.FindStringSubmatch(a.header.Get("Link")); next != nil {
			url = next[1]
		}
	}
	return all
}

func decode[T any](t *testing.T, body string) T {
	t.Helper()
	var value T
	if err := json.Unmarshal([]byte(body), &value); err != nil {
		t.Fatalf("cannot decode the body: %v\n%s", err, body)
	}
	return value
}

func expectStatus(t *testing.T, a response, status int) {
	t.Helper()
	if a.status != status {
		t.Fatalf("got %v, want status %d", a, status)
	}
}

// expectError checks that a response is an error with the given status and error code.
func expectError(t *testing.T, a response, status int, code string) {
	t.Helper()
	var e struct {
		Code   string
		Status int
	}
	if json.Unmarshal([]byte(a.body), &e); a.status != status || e.Status != status || e.Code != code {
		t.Fatalf("got %v, want status %d and error code %q", a, status, code)
	}
}

// expectHeader checks the value of a response header. If want is empty, the header must be absent.
func expectHeader(t *testing.T, a response, name, want string) {
	t.Helper()
	if got := strings.Join(a.header.Values(name), ", "); got != want {
		t.Errorf("header %s: got %q, want %q", name, got, want)
	}
}
