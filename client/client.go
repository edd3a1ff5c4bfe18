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
	// defaultTimeout bounds each attempt: the service itself waits five seconds for the first of two equal requests.
	defaultTimeout = 30 * time.Second
	defaultRetries = 4
	// maxResponse bounds what is read of an answer. The largest page is a hundred animals, far below it.
	maxResponse = 8 << 20
)

// Client calls one service with one key.
type Client struct {
	base      string  // without a slash at the end
	key       *string // behind a pointer, so that a Client that is printed does not show it
	http      *http.Client
	userAgent string
	retries   int
}

// New makes a client for the service at a base address, which ends in /v1, with an API key.
func New(baseURL, key string, options ...Option) (*Client, error) {
	// No message here shows an argument: somebody may have mixed up the address and the key.
	base, err := parseBase(baseURL)
	if err != nil {
		return nil, err
	}
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("animalstore: a key has visible ASCII characters only, and at least one")
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
		return nil, errors.New("animalstore: the HTTP client is nil")
	case !isPrintable(c.userAgent):
		return nil, errors.New("animalstore: the user agent has characters that no header can carry")
	case c.retries < 0:
		return nil, errors.New("animalstore: the number of retries is negative")
	}
	own := *c.http
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &own
	return c, nil
}

func parseBase(text string) (string, error) {
	base, err := url.Parse(text)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Hostname() == "" {
		return "", errors.New("animalstore: the base URL must be an address such as https://animals.example/v1")
	}
	if base.User != nil || base.RawQuery != "" || base.ForceQuery || base.Fragment != "" {
		return "", errors.New("animalstore: the base URL must have no user, no query and no fragment")
	}
	if !strings.HasSuffix(strings.TrimRight(base.Path, "/"), "/v1") {
		return "", errors.New("animalstore: the base URL must end in /v1")
	}
	return strings.TrimRight(base.String(), "/"), nil
}

// request is one call, as often as it has to be sent.
type request struct {
	method         string
	path           string // below the base
	query          url.Values
	body           any    // nil: none
	idempotencyKey string // of a POST
	ifMatch        string // empty: whatever the state
	err            error  // of an option
}

// apiResponse is what came back.
type apiResponse struct {
	status int
	header http.Header
	body   []byte
}

// do makes a call and reads what the service says into a value; nil expects it to say that it is done.
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
		return apiResponse{}, got.unexpectedError("it should be 204 No Content")
	case into != nil && json.Unmarshal(got.body, into) != nil:
		return apiResponse{}, got.unexpectedError("its body is not the JSON that was asked for")
	}
	return got, nil
}

func (c *Client) get(ctx context.Context, path string, query url.Values, into any) (apiResponse, error) {
	return c.do(ctx, request{method: http.MethodGet, path: path, query: query}, into)
}

// prepare makes the request that every attempt is a copy of.
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

// send makes one attempt. An answer that is no success is an *Error.
func (c *Client) send(prepared *http.Request) (apiResponse, error) {
	attempt := prepared.Clone(prepared.Context())
	attempt.Body, _ = prepared.GetBody() // from memory: cannot fail
	response, err := c.http.Do(attempt)
	if err != nil {
		return apiResponse{}, fmt.Errorf("animalstore: %w", err)
	}
	defer response.Body.Close()
	got := apiResponse{status: response.StatusCode, header: response.Header}
	got.body, err = io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	switch {
	case err != nil:
		return got, fmt.Errorf("animalstore: %s %s: the answer broke off: %w", prepared.Method, prepared.URL, err)
	case got.status < 200 || got.status > 299:
		return got, got.asError()
	case len(got.body) > maxResponse:
		return got, got.unexpectedError("it is too large")
	}
	return got, nil
}

// isPrintable tells whether a header can carry a text as it is.
func isPrintable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}
