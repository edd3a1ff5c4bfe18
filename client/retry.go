package client

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"
)

// How long a call waits before it is sent again: a random part of firstWait, of twice that, and so on, on top of what
// the service asks for. Clients that failed together do not come back together.
const (
	firstWait   = 250 * time.Millisecond
	longestWait = 5 * time.Second
	// patience is the longest Retry-After that is waited for; who is told to wait longer has better things to do.
	patience = time.Minute
)

// quoter escapes what stands between quotes in a header. Quoted, a name arrives as it is: also with a space at its end.
var quoter = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

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

// post makes a POST that can be repeated.
func (c *Client) post(ctx context.Context, path string, body any, options []PostOption, into any) (answer, error) {
	r := request{method: http.MethodPost, path: path, body: body, idempotencyKey: rand.Text()}
	for _, option := range options {
		option(&r)
	}
	return c.do(ctx, r, into)
}

// sendUntilAnswered sends a request until there is an answer that more of the same would not change.
func (c *Client) sendUntilAnswered(ctx context.Context, prepared *http.Request) (answer, error) {
	var lost error // of an attempt that may have been carried out
	for try := 0; ; try++ {
		got, err := c.send(prepared)
		if err == nil {
			return got, nil
		}
		if lost != nil {
			if prepared.Method == http.MethodDelete && IsCode(err, CodeNotFound) {
				return answer{status: http.StatusNoContent, header: got.header}, nil // the lost one removed it
			}
			if prepared.Method == http.MethodPatch && IsCode(err, CodePreconditionFailed) {
				// Ours may be the change that is in the way. To say that it was not made could make it twice.
				return got, fmt.Errorf("%w; sent again, it found the animal changed, perhaps by the first attempt", lost)
			}
		}
		if try == c.retries || ctx.Err() != nil || !mayPass(err) {
			return got, undecided(lost, err)
		}
		if MayBeDone(err) {
			lost = err
		}
		wait := waitBefore(try+1, err)
		if deadline, ok := ctx.Deadline(); wait > patience || ok && time.Until(deadline) <= wait {
			return got, undecided(lost, err)
		}
		if ended := sleep(ctx, wait); ended != nil {
			return got, fmt.Errorf("animalstore: %w before this could be tried again: %w", ended, undecided(lost, err))
		}
	}
}

// undecided is the error of the last attempt. Where that one was not carried out, but an earlier one may have been, it is that one's:
// whoever is told that nothing was done does it again.
func undecided(lost, err error) error {
	_, answered := errors.AsType[*Error](err)
	if lost == nil || MayBeDone(err) || answered && !mayPass(err) {
		return err
	}
	return fmt.Errorf("%w; sent again: %v", lost, err)
}

// mayPass tells whether the same request may fare better later.
func mayPass(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		switch e.Status {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
		return e.Code == CodeIdempotencyKeyInUse
	}
	return !isUntrusted(err)
}

// isUntrusted tells whether nothing was sent, because whoever answers could not show that it is the service.
func isUntrusted(err error) bool {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return untrusted
}

// MayBeDone tells whether the service may have done what a call asked for, although it ended with this error: look before you ask
// for it again by another call.
func MayBeDone(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status >= 500 || e.Status < 300 // an answer that nobody could read
	}
	operation, ok := errors.AsType[*net.OpError](err)
	return err != nil && !isUntrusted(err) && (!ok || operation.Op != "dial")
}

// waitBefore is how long to wait before the nth repeat.
func waitBefore(n int, err error) time.Duration {
	most := longestWait
	if n < 16 { // a shift further would overflow
		most = min(most, firstWait<<(n-1))
	}
	wait := mathrand.N(most)
	if e, ok := errors.AsType[*Error](err); ok {
		wait += e.RetryAfter
	}
	return wait
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
