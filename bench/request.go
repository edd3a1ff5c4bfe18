package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sort"
	"strings"
)

// request describes the requests in a load. If the path, the idempotency key or the body contains a placeholder, each
// request replaces the placeholder with the next element of parts. All elements have the same length, so that
// generating the load is cheap and costs the same for every subject.
type request struct {
	method        string
	path          string
	key           string // the value of the Authorization header
	idempotency   string // the value of the Idempotency-Key header
	body          string
	parts         []string
	consumesParts bool // each element of parts can be used only once
	pace          int  // number of requests per second, evenly spaced, or 0 for as many as possible
	status        int  // expected status of the response
	items         int  // expected number of items in the response, or 0 if they are not counted
}

const placeholder = "{}"

// recordedResponse is a response that was recorded from a subject.
type recordedResponse struct {
	Status int
	Header http.Header
	Body   []byte
}

// filled returns the path and the body after replacing the placeholder with the element of parts that has the given
// index.
func (r request) filled(part int) (path, body string) {
	if len(r.parts) == 0 {
		return r.path, r.body
	}
	text := r.parts[part]
	return strings.Replace(r.path, placeholder, text, 1), strings.Replace(r.body, placeholder, text, 1)
}

// headers returns the HTTP headers that the request needs, such as Authorization.
func (r request) headers() map[string]string {
	headers := map[string]string{}
	if r.key != "" {
		headers["Authorization"] = r.key
	}
	if r.idempotency != "" {
		headers["Idempotency-Key"] = r.idempotency
	}
	if r.body != "" {
		headers["Content-Type"] = "application/json"
	}
	return headers
}

// raw returns the bytes that come before and after the placeholder in the HTTP request.
func (r request) raw(host string) (before, after string) {
	_, body := r.filled(0)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.method, r.path, host)
	headers := r.headers()
	names := make([]string, 0, len(headers))
	for name := range headers {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Fprintf(&b, "%s: %s\r\n", name, headers[name])
	}
	if r.body != "" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n" + r.body)
	before, after, _ = strings.Cut(b.String(), placeholder)
	return before, after
}

// once sends one request and checks the status of the response and its number of items.
func (r request) once(base string, part int) (recordedResponse, error) {
	path, body := r.filled(part)
	sent, err := http.NewRequest(r.method, base+path, strings.NewReader(body))
	if err != nil {
		return recordedResponse{}, err
	}
	for name, value := range r.headers() {
		if len(r.parts) > 0 {
			value = strings.Replace(value, placeholder, r.parts[part], 1)
		}
		sent.Header.Set(name, value)
	}
	client := &http.Client{Timeout: timeout, Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	response, err := client.Do(sent)
	if err != nil {
		return recordedResponse{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return recordedResponse{}, err
	}
	got := recordedResponse{response.StatusCode, response.Header, text}
	got.Header.Del("Date") // net/http adds its own Date header
	if got.Status != r.status {
		return got, fmt.Errorf("%s %s: the response is %s, want %d: %s", r.method, path, response.Status, r.status, text)
	}
	if n := got.items(); r.items > 0 && n != r.items {
		return got, fmt.Errorf("%s %s: the response has %d items, want %d", r.method, path, n, r.items)
	}
	return got, nil
}

// items returns the number of items in a list. The list is an array or, for PocketBase, an object with an
// array named items.
func (a recordedResponse) items() int {
	var list []json.RawMessage
	if json.Unmarshal(a.Body, &list) == nil {
		return len(list)
	}
	var object struct{ Items []json.RawMessage }
	if json.NewDecoder(bytes.NewReader(a.Body)).Decode(&object) == nil {
		return len(object.Items)
	}
	return 0
}
