package cli

import (
	"sync"
	"time"
)

// Nearly all deadlines of a connection are far away and cleared again: for the next request, its headers, its body, and its answer.
// A timer for each took 6 % of the processor under load. They are looked through every second instead, so that one that is
// far away when it is set comes up to a second late.

const (
	deadlineEvery = time.Second
	// farAway is how far away a deadline is that has no timer.
	farAway = 3 * time.Second
)

// deadline is that of one direction of a connection.
type deadline struct {
	mu  sync.Mutex
	at  time.Time // without a timer; zero: there is none
	set bool      // there is another one, at the connection itself
}

// change sets the deadline as apply does, but by itself where it is far away.
func (d *deadline) change(at, now time.Time, apply func(time.Time) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = time.Time{}
	if at.Sub(now) >= farAway {
		d.at, at = at, time.Time{}
	}
	if at.IsZero() && !d.set {
		return nil
	}
	d.set = !at.IsZero()
	return apply(at)
}

// pass makes what waits fail where the deadline has passed.
func (d *deadline) pass(now time.Time, apply func(time.Time) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.at.IsZero() && !now.Before(d.at) {
		d.at, d.set = time.Time{}, true
		apply(time.Unix(1, 0)) // a connection that is closed needs none
	}
}

func (c *connection) SetReadDeadline(at time.Time) error {
	return c.reading.change(at, *c.all.now.Load(), c.TCPConn.SetReadDeadline)
}

func (c *connection) SetWriteDeadline(at time.Time) error {
	return c.writing.change(at, *c.all.now.Load(), c.TCPConn.SetWriteDeadline)
}

func (c *connection) SetDeadline(at time.Time) error {
	if err := c.SetReadDeadline(at); err != nil {
		return err
	}
	return c.SetWriteDeadline(at)
}

// keepTime looks for deadlines that have passed, until it is told to stop.
func (c *connections) keepTime() (stop func()) {
	return every(deadlineEvery, func() { c.pass(time.Now()) })
}

// pass ends what has waited for too long at a time.
func (c *connections) pass(now time.Time) {
	c.now.Store(&now)
	c.mu.Lock()
	all := make([]*connection, 0, len(c.open))
	for one := range c.open {
		all = append(all, one)
	}
	c.mu.Unlock()
	for _, one := range all {
		one.reading.pass(now, one.TCPConn.SetReadDeadline)
		one.writing.pass(now, one.TCPConn.SetWriteDeadline)
	}
}
