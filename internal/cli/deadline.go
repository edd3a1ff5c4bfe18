package cli

import (
	"os"
	"sync"
	"time"
)

// Nearly all deadlines of a connection are far away and cleared again: for the next request, its headers, its body, and its answer.
// A timer for each took 6 % of the processor under load. They are looked through every second instead, so that one that is
// far away when it is set comes up to a second late. Nor does the connection hear of any for reading while nothing is read from
// it: behind each answer net/http ends a read of its own that has hardly begun, which took another 4 to 6 %.

const (
	deadlineEvery = time.Second
	// farAway is how far away a deadline is that has no timer.
	farAway = 3 * time.Second
)

// deadline is that of one direction of a connection.
type deadline struct {
	mu      sync.Mutex
	at      time.Time // zero: there is none
	waiting int       // for the connection
	told    bool      // the connection has one, with a timer
}

// change sets the deadline. Where nothing waits, whatever begins to wait will find it.
func (d *deadline) change(at, now time.Time, tell func(time.Time) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = at
	if d.waiting == 0 {
		return nil
	}
	return d.tell(now, tell)
}

// begin lets something wait, unless it is too late.
func (d *deadline) begin(now time.Time, tell func(time.Time) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.passed(now) {
		return os.ErrDeadlineExceeded
	}
	if err := d.tell(now, tell); err != nil {
		return err
	}
	d.waiting++
	return nil
}

func (d *deadline) end() {
	d.mu.Lock()
	d.waiting--
	d.mu.Unlock()
}

// pass makes what waits fail where the deadline has passed.
func (d *deadline) pass(now time.Time, tell func(time.Time) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting > 0 && d.passed(now) {
		d.told = true
		tell(time.Unix(1, 0)) // a connection that is closed needs none
	}
}

func (d *deadline) passed(now time.Time) bool { return !d.at.IsZero() && !now.Before(d.at) }

// tell tells the connection of a deadline that is near. One that is far away ends the one that it has.
func (d *deadline) tell(now time.Time, tell func(time.Time) error) error {
	near := !d.at.IsZero() && d.at.Sub(now) < farAway
	if !near && !d.told {
		return nil
	}
	d.told = near
	if !near {
		return tell(time.Time{})
	}
	return tell(d.at)
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

// keepTime looks for deadlines that have passed and clients that have gone, until it is told to stop.
func (c *connections) keepTime() (stop func()) {
	return every(deadlineEvery, func() { c.pass(time.Now()) })
}

// pass ends what has waited for too long at a time, and what nobody waits for.
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
		one.look()
	}
}
