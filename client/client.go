package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	defaultUserAgent = "animalstore-go"
	// defaultTimeout is the time limit for each attempt. It must be longer than the five seconds for which
	// the service may wait for an earlier request with the same idempotency key.
	defaultTimeout = 30 * time.Second
	// maxResponse is the maximum size of a response body in bytes. It is far larger than the largest page,
	// which contains a hundred animals.
	maxResponse = 8 << 20
)

// Client sends requests to one service with one API key. It is safe for concurrent use.
type Client struct {
	base      string  // the base URL without a trailing slash
	key       *string // a pointer, so that printing a Client does not reveal the key
	http      *http.Client
	userAgent string
	retries   int
	// omitsCustomers is set by WithoutCustomers.
	omitsCustomers bool
}

// New returns a client for the service at a base URL, which must end in /v1. It fails if an argument or an
// option is invalid.
func New(baseURL, key string, options ...Option) (*Client, error) {
	// Error messages must not contain the arguments, because the caller may have swapped the URL and the key.
	base, err := parseBase(baseURL)
	if err != nil {
		return nil, err
	}
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("animalstore: the API key must be one or more visible ASCII characters")
	}
	c := &Client{
		base:      base,
		key:       &key,
		http:      &http.Client{Timeout: defaultTimeout},
		userAgent: defaultUserAgent,
		retries:   defaultRetries,
	}
	for _, option := range options {
		option(c)
	}
	switch {
	case c.http == nil:
		return nil, errors.New("animalstore: the HTTP client must not be nil")
	case !isPrintable(c.userAgent):
		return nil, errors.New("animalstore: the user agent must be printable ASCII")
	case c.retries < 0:
		return nil, errors.New("animalstore: the number of retries must not be negative")
	}
	own := *c.http
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &own
	return c, nil
}

func parseBase(text string) (string, error) {
	base, err := url.Parse(text)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Hostname() == "" {
		return "", errors.New("animalstore: the base URL must be an http or https URL such as https://animals.example/v1")
	}
	if base.User != nil || base.RawQuery != "" || base.ForceQuery || base.Fragment != "" {
		return "", errors.New("animalstore: the base URL must not have a user, query or fragment")
	}
	if !strings.HasSuffix(strings.TrimRight(base.Path, "/"), "/v1") {
		return "", errors.New("animalstore: the base URL must end in /v1")
	}
	return strings.TrimRight(base.String(), "/"), nil
}

// request describes one call. Every attempt sends the same data.
type request struct {
	method         string
	path           string // the path relative to the base URL
	query          url.Values
	body           any    // nil if the request has no body
	idempotencyKey string // set only for POST requests
	ifMatch        string // empty if the request is unconditional
	ifNoneMatch    string
	err            error // the error from an invalid option; the call returns this error
}

// apiResponse is a response with its body already read into memory.
type apiResponse struct {
	status int
	header http.Header
	body   []byte
}

// do makes a call, decodes the response body and stores the result in *into. If into is nil, do expects
// 204 No Content.
func (c *Client) do(ctx context.Context, r request, into any) (apiResponse, error) {
	if r.err != nil {
		return apiResponse{}, r.err
	}
	prepared, err := c.prepare(ctx, r)
	if err != nil {
		return apiResponse{}, err
	}
	got, err := c.sendWithRetries(ctx, prepared)
	switch {
	case err != nil:
		return apiResponse{}, err
	case into == nil && got.status != http.StatusNoContent:
		return apiResponse{}, got.unexpectedError("204 No Content was expected")
	case into != nil && json.Unmarshal(got.body, into) != nil:
		return apiResponse{}, got.unexpectedError("the body is not the expected JSON")
	}
	return got, nil
}

func (c *Client) get(ctx context.Context, path string, query url.Values, into any) (apiResponse, error) {
	return c.do(ctx, request{method: http.MethodGet, path: path, query: query}, into)
}

// prepare builds the HTTP request. Each attempt sends a clone of this request.
func (c *Client) prepare(ctx context.Context, r request) (*http.Request, error) {
	var body []byte
	contentType := "application/json"
	if sent, ok := r.body.(rawBody); ok {
		contentType, body = sent.mediaType, sent.content
	} else if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return nil, fmt.Errorf("animalstore: %w", err)
		}
	}
	address := c.base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	prepared, err := http.NewRequestWithContext(ctx, r.method, address, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("animalstore: %w", err)
	}
	header := prepared.Header
	header.Set("Authorization", "Bearer "+*c.key)
	header.Set("Accept", "application/json")
	header.Set("User-Agent", c.userAgent)
	if c.omitsCustomers {
		header.Set("Prefer", "omit=customers")
	}
	if r.body != nil {
		header.Set("Content-Type", contentType)
	}
	if r.idempotencyKey != "" {
		header.Set("Idempotency-Key", `"`+quoteEscaper.Replace(r.idempotencyKey)+`"`)
	}
	if r.ifMatch != "" {
		header.Set("If-Match", r.ifMatch)
	}
	if r.ifNoneMatch != "" {
		header.Set("If-None-Match", r.ifNoneMatch)
	}
	return prepared, nil
}

// send makes one attempt. If the status is not 2xx, it returns an *Error.
func (c *Client) send(prepared *http.Request) (apiResponse, error) {
	attempt := prepared.Clone(prepared.Context())
	attempt.Body, _ = prepared.GetBody() // GetBody reads from memory and cannot fail
	response, err := c.http.Do(attempt)
	if err != nil {
		return apiResponse{}, fmt.Errorf("animalstore: %w", err)
	}
	defer response.Body.Close()
	got := apiResponse{status: response.StatusCode, header: response.Header}
	got.body, err = io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	switch {
	case err != nil:
		return got, fmt.Errorf("animalstore: %s %s: the response was cut off: %w", prepared.Method, prepared.URL, err)
	case got.status < 200 || got.status > 299:
		return got, got.asError()
	case len(got.body) > maxResponse:
		return got, got.unexpectedError("the body is too large")
	}
	return got, nil
}

// isPrintable reports whether a text is printable ASCII, which can be sent unchanged in a header.
func isPrintable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

func pathOf(list string, id int64) string { return list + "/" + strconv.FormatInt(id, 10) }
