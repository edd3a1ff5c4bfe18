package client

import (
	"errors"
	"net/http"
	"strings"
)

// Option changes how a Client works.
type Option func(*Client)

// WithHTTPClient sends the requests through h, with its transport and its timeout, which is that of one attempt; a stream
// of events, or an export, must only begin within it. The default gives each attempt 30 seconds, and an import two
// minutes. Redirects are never followed, whatever h says: the key would go with them.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithUserAgent sets the User-Agent header.
func WithUserAgent(name string) Option { return func(c *Client) { c.userAgent = name } }

// WithRetries sets how often a call is sent again after its first attempt; 0 is never. The default is 4.
func WithRetries(n int) Option { return func(c *Client) { c.retries = n } }

// quoteEscaper escapes what stands between quotes in a header. Quoted, a name arrives as it is: also with a space at its end.
var quoteEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// PostOption changes how a POST is made.
type PostOption func(*request)

// IdempotencyKey names a POST, in 1 to 255 printable ASCII characters. Within 24 hours the service does what one name
// stands for once, and answers every repeat as it answered the first. Without this option each call has a random name,
// which makes its own repeats safe; a name of your own, kept where it survives, makes those of your program safe too.
func IdempotencyKey(name string) PostOption {
	return func(r *request) {
		r.idempotencyKey = name
		if len(name) < 1 || len(name) > 255 || !isPrintable(name) {
			r.err = errors.New("animalstore: an idempotency key has 1 to 255 printable ASCII characters")
		}
	}
}

// Condition is what must hold for a change to be made.
type Condition func(*request)

// IfMatch makes a change only while the animal is as it was when its ETag was seen. Otherwise the call fails with
// [CodePreconditionFailed]. Where an answer was lost, and the repeat finds an animal that has changed, the error is that
// of the lost attempt, which may have made the change itself.
func IfMatch(etag string) Condition {
	return func(r *request) {
		r.ifMatch = etag
		if etag == "" || !isPrintable(etag) { // sent without one, the change would be made whatever the state
			r.err = errors.New("animalstore: IfMatch needs the ETag of an animal; GetPet gives it")
		}
	}
}
