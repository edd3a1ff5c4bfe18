package programtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Pet is the JSON representation of an animal.
type Pet struct {
	ID         int64  `json:"id,omitempty"`
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
	Status     string `json:"status,omitempty"`
}

// JSON returns the request body for creating the animal.
func (p Pet) JSON() string {
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // cannot happen because the struct can always be encoded
	}
	return string(body)
}

// Response is an HTTP response whose body has already been read.
type Response struct {
	Status int
	Header http.Header
	Body   string
}

func (a Response) String() string { return fmt.Sprintf("%d %s", a.Status, strings.TrimSpace(a.Body)) }

// Send sends one request and fails the test if it gets no response. If key is empty, the request has no
// Authorization header. Each header field has the form "Name: value".
func (p *Program) Send(method, path, key, body string, fields ...string) Response {
	p.T.Helper()
	a, err := p.Try(method, path, key, body, fields...)
	if err != nil {
		p.T.Fatal(err)
	}
	return a
}

// Try is like Send but returns an error if it gets no response.
func (p *Program) Try(method, path, key, body string, fields ...string) (Response, error) {
	if strings.HasPrefix(path, "/") {
		path = p.URL + path
	}
	request, err := http.NewRequest(method, path, strings.NewReader(body))
	if err != nil {
		return Response{}, err
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
	httpResponse, err := p.Client.Do(request)
	if err != nil {
		return Response{}, err
	}
	defer httpResponse.Body.Close()
	content, err := io.ReadAll(httpResponse.Body)
	if err != nil {
		return Response{}, fmt.Errorf("%s %s: incomplete response: %w", method, path, err)
	}
	return Response{httpResponse.StatusCode, httpResponse.Header, string(content)}, nil
}

// Get sends a GET request with the configured key and checks that the status is 200.
func (p *Program) Get(path string) Response {
	p.T.Helper()
	a := p.Send("GET", path, AdminKey, "")
	ExpectStatus(p.T, a, http.StatusOK)
	return a
}

// Create creates an animal with the configured key and checks that the status is 201.
func (p *Program) Create(n Pet) (Pet, Response) {
	p.T.Helper()
	a := p.Send("POST", "/v1/pets", AdminKey, n.JSON())
	ExpectStatus(p.T, a, http.StatusCreated)
	return Decode[Pet](p.T, a.Body), a
}

// NextPage matches the URL of the next page in a Link header.
var NextPage = regexp.MustCompile(`<([^>]+)>; rel="next"`)

// Walk lists all animals by following the links to the next pages.
func (p *Program) Walk() []Pet {
	p.T.Helper()
	return Pages[Pet](p, "/v1/pets?limit=100")
}

// Feed returns all events as JSON, oldest first.
func (p *Program) Feed() (all []string) {
	p.T.Helper()
	for _, event := range Pages[json.RawMessage](p, "/v1/events?limit=100") {
		all = append(all, string(event))
	}
	return all
}

// Pages returns the elements of a list, from the page at url to the last page.
func Pages[T any](p *Program, url string) (all []T) {
	p.T.Helper()
	for url != "" {
		a := p.Get(url)
		all = append(all, Decode[[]T](p.T, a.Body)...)
		url = ""
		if next := NextPage.FindStringSubmatch(a.Header.Get("Link")); next != nil {
			url = next[1]
		}
	}
	return all
}

// Metric returns the value of a time series. The name includes the labels, as in /metrics.
func (p *Program) Metric(name string) float64 {
	p.T.Helper()
	_, rest, found := strings.Cut(p.Get("/metrics").Body, "\n"+name+" ")
	text, _, _ := strings.Cut(rest, "\n")
	value, err := strconv.ParseFloat(text, 64)
	if !found || err != nil {
		p.T.Fatalf("metric %s is missing or has no value: %v", name, err)
	}
	return value
}

// Decode decodes a response body from JSON.
func Decode[T any](t *testing.T, body string) T {
	t.Helper()
	var value T
	if err := json.Unmarshal([]byte(body), &value); err != nil {
		t.Fatalf("cannot decode the body: %v\n%s", err, body)
	}
	return value
}

// ExpectStatus checks the status of a response.
func ExpectStatus(t *testing.T, a Response, status int) {
	t.Helper()
	if a.Status != status {
		t.Fatalf("got %v, want status %d", a, status)
	}
}

// ExpectError checks that a Response is an error with the given status and error code.
func ExpectError(t *testing.T, a Response, status int, code string) {
	t.Helper()
	var e struct {
		Code   string
		Status int
	}
	if json.Unmarshal([]byte(a.Body), &e); a.Status != status || e.Status != status || e.Code != code {
		t.Fatalf("got %v, want status %d and error code %q", a, status, code)
	}
}
