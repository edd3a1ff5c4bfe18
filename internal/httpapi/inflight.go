package httpapi

const (
	// defaultInFlight is the default maximum number of requests in progress. It is far more than a machine can
	// process in parallel, but low enough for all of these requests to be served within about a second.
	// defaultKeyInFlight is the maximum for one API key. A request occupies its connection even while it is
	// waiting for a turn or for another request with the same Idempotency-Key, so this maximum is a third of
	// the connections that the program allows by default.
	defaultInFlight    = 1024
	defaultKeyInFlight = 333
	// maxWaiting is the maximum number of requests of one kind that are waiting for their turn or being processed, and
	// maxKeyWaiting is the maximum for one API key.
	maxWaiting    = 256
	maxKeyWaiting = 64
)
