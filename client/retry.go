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
	"time"
)

// How long a call waits before it is sent again: a random part of initialBackoff, of twice that, and so on, on top of what
// the service asks for. Clients that failed together do not come back together.
const (
	initialBackoff = 250 * time.Millisecond
	maxBackoff     = 5 * time.Second
	// maxRetryAfter is the longest Retry-After that is waited for; who is told to wait longer has better things to do.
	maxRetryAfter = time.Minute
)

// post makes a POST that can be repeated.
func (c *Client) post(ctx context.Context, path string, body any, options []PostOption, into any) (apiResponse, error) {
	r := request{method: http.MethodPost, path: path, body: body, idempotencyKey: rand.Text()}
	for _, option := range options {
		option(&r)
	}
	return c.do(ctx, r, into)
}

// sendWithRetries sends a request until there is an answer that more of the same would not change.
func (c *Client) sendWithRetries(ctx context.Context, prepared *http.Request) (apiResponse, error) {
	var lost error // of an attempt that may have been carried out
	for try := 0; ; try++ {
		got, err := c.send(prepared)
		if err == nil {
			return got, nil
		}
		if lost != nil {
			if prepared.Method == http.MethodDelete && IsCode(err, CodeNotFound) {
				return apiResponse{status: http.StatusNoContent, header: got.header}, nil // the lost one removed it
			}
			if prepared.Method == http.MethodPatch && IsCode(err, CodePreconditionFailed) {
				// Ours may be the change that is in the way. To say that it was not made could make it twice.
				return got, fmt.Errorf("%w; sent again, it found the animal changed, perhaps by the first attempt", lost)
			}
		}
		if try == c.retries || ctx.Err() != nil || !isRetryable(err) {
			return got, preferLost(lost, err)
		}
		if MayBeDone(err) {
			lost = err
		}
		wait := backoff(try+1, err)
		if deadline, ok := ctx.Deadline(); wait > maxRetryAfter || ok && time.Until(deadline) <= wait {
			return got, preferLost(lost, err)
		}
		if ended := sleep(ctx, wait); ended != nil {
			return got, fmt.Errorf("animalstore: %w before this could be tried again: %w", ended, preferLost(lost, err))
		}
	}
}

// preferLost is the error of the last attempt. Where that one was not carried out, but an earlier one may have been, it is that one's:
// whoever is told that nothing was done does it again.
func preferLost(lost, err error) error {
	_, answered := errors.AsType[*Error](err)
	if lost == nil || MayBeDone(err) || answered && !isRetryable(err) {
		return err
	}
	return fmt.Errorf("%w; sent again: %v", lost, err)
}

// isRetryable tells whether the same request may fare better later.
func isRetryable(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		switch e.Status {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
		return e.Code == CodeIdempotencyKeyInUse
	}
	return !isCertificateError(err)
}

// isCertificateError tells whether nothing was sent, because whoever answers could not show that it is the service.
func isCertificateError(err error) bool {
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
	return err != nil && !isCertificateError(err) && (!ok || operation.Op != "dial")
}

// backoff is how long to wait before the nth repeat.
func backoff(n int, err error) time.Duration {
	maxJitter := maxBackoff
	if n < 16 { // a shift further would overflow
		maxJitter = min(maxJitter, initialBackoff<<(n-1))
	}
	wait := mathrand.N(maxJitter)
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
