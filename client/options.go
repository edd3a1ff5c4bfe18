package client

import (
	"errors"
	"net/http"
	"strings"
)

// Option configures a [Client].
type Option func(*Client)

// WithHTTPClient sends the requests through h, with its transport and timeout. The timeout applies to each
// attempt; an event stream or an export only has to start within it. By default an attempt has 30 seconds,
// and an import two minutes. Redirects are never followed, whatever h says: they would leak the key.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithUserAgent sets the User-Agent header.
func WithUserAgent(name string) Option { return func(c *Client) { c.userAgent = name } }

// WithRetries sets how often a failed call is retried; 0 means never. The default is 4.
func WithRetries(n int) Option { return func(c *Client) { c.retries = n } }

// quoteEscaper escapes text inside quotes in a header. Quoting preserves trailing spaces.
var quoteEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// PostOption configures one POST call.
type PostOption func(*request)

// IdempotencyKey identifies a POST by 1 to 255 printable ASCII characters. For 24 hours the service performs
// requests with one key once, and gives every repeat the response of the first. By default each call gets a
// random key, which makes its own retries safe. A key that your program stores makes it safe to repeat the
// call after a restart, too.
func IdempotencyKey(name string) PostOption {
	return func(r *request) {
		r.idempotencyKey = name
		if len(name) < 1 || len(name) > 255 || !isPrintable(name) {
			r.err = errors.New("animalstore: an idempotency key must have 1 to 255 printable ASCII characters")
		}
	}
}

// Condition makes a change conditional.
type Condition func(*request)

// IfMatch makes a change only if the animal still has this ETag. Otherwise the call fails with
// [CodePreconditionFailed]. If a response was lost, and the retry finds that the animal has changed, the call
// returns the error of the lost attempt, which may have made the change itself.
func IfMatch(etag string) Condition {
	return func(r *request) {
		r.ifMatch = etag
		if etag == "" || !isPrintable(etag) { // without it the change would be unconditional
			r.err = errors.New("animalstore: IfMatch needs the ETag of an animal, as returned by GetPet")
		}
	}
}
