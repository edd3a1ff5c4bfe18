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
	"strconv"
	"time"
)

// Retries use exponential backoff with full jitter, in addition to Retry-After. The jitter keeps clients that
// failed at the same time from retrying at the same time.
const (
	defaultRetries = 4
	initialBackoff = 250 * time.Millisecond
	maxBackoff     = 5 * time.Second
	// maxRetryAfter is the longest Retry-After that a call waits for. If Retry-After is longer, the call
	// fails immediately.
	maxRetryAfter = time.Minute
)

// post sends a POST request with an idempotency key, so that the request can be retried safely.
func (c *Client) post(ctx context.Context, path string, body any, options []PostOption, into any) (apiResponse, error) {
	r := request{method: http.MethodPost, path: path, body: body, idempotencyKey: rand.Text()}
	for _, option := range options {
		option(&r)
	}
	return c.do(ctx, r, into)
}

// sendWithRetries sends a request until it succeeds, fails permanently, or runs out of retries or time.
func (c *Client) sendWithRetries(ctx context.Context, prepared *http.Request) (apiResponse, error) {
	var lost error // the error from an earlier attempt that the service may have carried out
	for try := 0; ; try++ {
		got, err := c.send(prepared)
		if err == nil {
			return got, nil
		}
		if lost != nil {
			if prepared.Method == http.MethodDelete && IsCode(err, CodeNotFound) {
				// The attempt whose response was lost has already deleted the resource.
				return apiResponse{status: http.StatusNoContent, header: got.header}, nil
			}
			if prepared.Method == http.MethodPatch && IsCode(err, CodePreconditionFailed) {
				// The attempt whose response was lost may have made this change. If the caller did not know that, it
				// might make the change twice.
				return got, fmt.Errorf("%w; the retry found it changed, perhaps by the first attempt", lost)
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
			return got, fmt.Errorf("animalstore: %w while waiting to retry: %w", ended, preferLost(lost, err))
		}
	}
}

// preferLost returns the error from the last attempt. If the service did not carry out that attempt but may have
// carried out an earlier one, preferLost returns the earlier error instead. Without this, the caller would assume that
// nothing was done and might repeat the call.
func preferLost(lost, err error) error {
	_, hasResponse := errors.AsType[*Error](err)
	if lost == nil || MayBeDone(err) || hasResponse && !isRetryable(err) {
		return err
	}
	return fmt.Errorf("%w; retried: %v", lost, err)
}

// isRetryable reports whether the same request may succeed later.
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

// isCertificateError reports whether the server's certificate was rejected. If so, no request was sent.
func isCertificateError(err error) bool {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return untrusted
}

// MayBeDone reports whether the service may have carried out a call even though the call returned this error.
// If so, check whether the change was made before you make the same call again.
func MayBeDone(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status >= 500 || e.Status < 300 // a status below 300 means that the call succeeded but its response could not be read
	}
	operation, ok := errors.AsType[*net.OpError](err)
	return err != nil && !isCertificateError(err) && (!ok || operation.Op != "dial")
}

// backoff returns how long to wait before the nth retry.
func backoff(n int, err error) time.Duration {
	maxJitter := maxBackoff
	if n < 16 { // a larger n could make the shift overflow
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

// retryAfter parses a Retry-After header, which is a number of seconds or a date. It returns 0 if the header
// is missing or invalid.
func retryAfter(text string) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(seconds) * time.Second // if the number is out of range, ParseUint returns the maximum
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(date))
	}
	return 0
}
