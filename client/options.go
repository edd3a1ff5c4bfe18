package client

import (
	"errors"
	"net/http"
	"strings"
)

// Option configures a [Client].
type Option func(*Client)

// WithHTTPClient makes the client send its requests through h, with the transport and timeout of h. The
// timeout applies to each attempt, but an event stream or an export only has to start within it. By default,
// the timeout is 30 seconds, or two minutes for an import or a photo. Redirects are never followed, even if h allows
// them, because they could leak the API key.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithUserAgent sets the User-Agent header that the client sends.
func WithUserAgent(name string) Option { return func(c *Client) { c.userAgent = name } }

// WithRetries sets how many times a failed call is retried. The default is 4, and 0 means never.
func WithRetries(n int) Option { return func(c *Client) { c.retries = n } }

// WithoutCustomers makes the service leave the customers out of all orders that it returns to the client, and search only
// the references of orders, even if the key has the scope customers. The tools for assistants use it.
func WithoutCustomers() Option { return func(c *Client) { c.omitsCustomers = true } }

// quoteEscaper escapes text for a quoted string in a header. The text is quoted because quotes preserve
// trailing spaces.
var quoteEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// PostOption configures a single call that sends a POST request.
type PostOption func(*request)

// IdempotencyKey sets the key that identifies a POST request. The key consists of 1 to 255 printable ASCII
// characters. For 24 hours, the service carries out only the first request with a given key and sends the
// same response to every repeat. By default, each call gets a random key, which makes its retries safe. If
// your program chooses and stores the key, it can also repeat the call safely after a restart.
func IdempotencyKey(name string) PostOption {
	return func(r *request) {
		r.idempotencyKey = name
		if len(name) < 1 || len(name) > 255 || !isPrintable(name) {
			r.err = errors.New("animalstore: an idempotency key must have 1 to 255 printable ASCII characters")
		}
	}
}

// Condition makes a call change a resource only if a condition is met; see [IfMatch] and [IfAbsent].
type Condition func(*request)

// IfMatch makes a change only if the resource still has this ETag or, if the ETag is "*", only if the resource
// exists. If the condition is not met, the call fails with [CodePreconditionFailed]. If a response is lost and the
// retry finds that the resource has changed, the call returns the error from the attempt whose response was lost,
// because that attempt may have made the change itself.
func IfMatch(etag string) Condition {
	return func(r *request) {
		r.ifMatch = etag
		if etag == "" || !isPrintable(etag) { // without an ETag, the change would be unconditional
			r.err = errors.New("animalstore: IfMatch needs an ETag, as returned by GetPet")
		}
	}
}

// IfAbsent makes [Client.PutCategory] create a category but never rename one. If the category exists, the call
// fails with [CodePreconditionFailed].
func IfAbsent() Condition { return func(r *request) { r.ifNoneMatch = "*" } }

func (r request) withConditions(conditions []Condition) request {
	for _, condition := range conditions {
		condition(&r)
	}
	return r
}
