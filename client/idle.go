package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxIdle is how long a connection may be idle before it counts as broken. On an event stream, the service
// sends something at least every 15 seconds.
const maxIdle = 45 * time.Second

var errIdle = errors.New("the service sent nothing for too long")

// idleTimeout ends a connection on which nothing arrives for too long. Only the time spent waiting for data
// counts, so the caller may take any amount of time between two reads.
type idleTimeout struct {
	body   io.Reader
	ctx    context.Context
	cancel context.CancelCauseFunc
	limit  time.Duration
}

// newIdleTimeout returns an idleTimeout for one request. The request must be sent with the idleTimeout's
// context, and its response must start within the timeout for one attempt.
func (c *Client) newIdleTimeout(ctx context.Context) *idleTimeout {
	ctx, cancel := context.WithCancelCause(ctx)
	return &idleTimeout{ctx: ctx, cancel: cancel, limit: cmp.Or(c.http.Timeout, maxIdle)}
}

func (t *idleTimeout) close() { t.cancel(nil) }

// send sends a request. The response must start in time, but may then take as long as data keeps arriving. After send,
// the caller reads the response body with Read.
func (t *idleTimeout) send(c *http.Client, r *http.Request) (response *http.Response, err error) {
	unlimited := *c
	unlimited.Timeout = 0
	err = t.guard(func() (err error) { response, err = unlimited.Do(r.Clone(t.ctx)); return err })
	if err != nil {
		return nil, fmt.Errorf("animalstore: %w", err)
	}
	t.body = response.Body
	return response, nil
}

func (t *idleTimeout) Read(p []byte) (n int, err error) {
	err = t.guard(func() (err error) { n, err = t.body.Read(p); return err })
	return n, err
}

// guard runs an operation on the connection. It cancels the connection if the operation takes longer than the
// limit.
func (t *idleTimeout) guard(operation func() error) error {
	timer := time.AfterFunc(t.limit, func() { t.cancel(errIdle) })
	defer timer.Stop()
	err := operation()
	if err != nil && context.Cause(t.ctx) == errIdle {
		return errIdle
	}
	return err
}
