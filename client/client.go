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
	"strings"
	"time"
)

const (
	defaultUserAgent = "animalstore-go"
	// defaultTimeout limits each attempt. The service itself may wait five seconds for an earlier request
	// with the same key.
	defaultTimeout = 30 * time.Second
	defaultRetries = 4
	// maxResponse limits the size of a response body, far above the largest page of a hundred animals.
	maxResponse = 8 << 20
)

// Client calls one service with one API key.
type Client struct {
	base      string  // without a trailing slash
	key       *string // a pointer, so that printing a Client does not reveal it
	http      *http.Client
	userAgent string
	retries   int
}

// New returns a client for the service at a base URL, which ends in /v1. It fails if an argument or an option
// is not valid.
func New(baseURL, key string, options ...Option) (*Client, error) {
	// No error message shows an argument: a caller may have swapped the URL and the key.
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

// request describes one call; all its attempts are equal.
type request struct {
	method         string
	path           string // relative to the base URL
	query          url.Values
	body           any    // nil for no body
	idempotencyKey string // POST only
	ifMatch        string // empty for an unconditional request
	err            error  // set by an invalid option
}

// apiResponse is a response whose body was read.
type apiResponse struct {
	status int
	header http.Header
	body   []byte
}

// do makes a call and decodes the response body into a value; nil expects 204 No Content.
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

// prepare builds the request that every attempt clones.
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
	if r.body != nil {
		header.Set("Content-Type", contentType)
	}
	if r.idempotencyKey != "" {
		header.Set("Idempotency-Key", `"`+quoteEscaper.Replace(r.idempotencyKey)+`"`)
	}
	if r.ifMatch != "" {
		header.Set("If-Match", r.ifMatch)
	}
	return prepared, nil
}

// send makes one attempt. A response other than 2xx is returned as an *Error.
func (c *Client) send(prepared *http.Request) (apiResponse, error) {
	attempt := prepared.Clone(prepared.Context())
	attempt.Body, _ = prepared.GetBody() // reads from memory and cannot fail
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

// isPrintable reports whether a text is printable ASCII, which a header can carry unchanged.
func isPrintable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}
