package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sort"
	"strings"
	"time"
)

// request is what a load asks for. Where the path or the body has a gap, each request fills it with the next of the parts,
// which are all of one length: so the load costs the same for every subject and little for any.
type request struct {
	method        string
	path          string
	key           string // the Authorization header
	body          string
	parts         []string
	consumesParts bool // each part works once
	pace          int  // so many a second, evenly; 0: as many as there can be
	status        int  // what the answer must be
	items         int  // how many the answer must list; 0: it is no list
}

const placeholder = "{}"

// recordedResponse is what a subject answered.
type recordedResponse struct {
	Status int
	Header http.Header
	Body   []byte
}

// filled returns the path and the body with a part in the gap.
func (r request) filled(part int) (path, body string) {
	if len(r.parts) == 0 {
		return r.path, r.body
	}
	text := r.parts[part]
	return strings.Replace(r.path, placeholder, text, 1), strings.Replace(r.body, placeholder, text, 1)
}

// headers are the lines of a request beside its first.
func (r request) headers() map[string]string {
	headers := map[string]string{}
	if r.key != "" {
		headers["Authorization"] = r.key
	}
	if r.body != "" {
		headers["Content-Type"] = "application/json"
	}
	return headers
}

// raw is the request as it goes over the wire, before and after the gap.
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

// once sends one of the requests, and checks that the answer is what the load is meant to measure.
func (r request) once(base string, part int) (recordedResponse, error) {
	path, body := r.filled(part)
	sent, err := http.NewRequest(r.method, base+path, strings.NewReader(body))
	if err != nil {
		return recordedResponse{}, err
	}
	for name, value := range r.headers() {
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
	got.Header.Del("Date") // net/http writes its own
	if got.Status != r.status {
		return got, fmt.Errorf("%s %s: the answer is %s in place of %d: %s", r.method, path, response.Status, r.status, text)
	}
	if n := got.items(); r.items > 0 && n != r.items {
		return got, fmt.Errorf("%s %s: the answer has %d items in place of %d", r.method, path, n, r.items)
	}
	return got, nil
}

// items counts what a list has: a bare array, or PocketBase's object with the array in items.
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

// sample is one measurement.
type sample struct {
	turn      int // those of the same number, of the same case and connections, came one after the other
	perSecond float64
	p50, p99  time.Duration
	creates   float64 // each second, done beside it
}
