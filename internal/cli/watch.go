package cli

// While a request is answered, net/http reads on from its connection, to learn whether the client goes away. A goroutine
// begins that read and another one ends it, for each request: 6 % of the processor under lists and creates. So the first such
// read is told that nothing has come, which ends it, and clients whose answers take long are looked at every second instead.

// Read reads what the client sends.
func (c *connection) Read(p []byte) (int, error) {
	// Hardly anything else reads a single byte meanwhile, and whatever does asks again.
	if canPeek && len(p) == 1 && c.state.CompareAndSwap(answering, unwatched) {
		return 0, nil
	}
	if err := c.reading.begin(*c.all.now.Load(), c.TCPConn.SetReadDeadline); err != nil {
		return 0, err
	}
	defer c.reading.end()
	return c.TCPConn.Read(p)
}

// look ends the requests of a client that has gone.
func (c *connection) look() {
	if leave := c.leave.Load(); leave != nil && c.state.Load() == unwatched && hasGone(c.TCPConn) {
		(*leave)()
	}
}
