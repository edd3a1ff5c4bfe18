package httpapi

const (
	// defaultInFlight is far more requests than a machine can process in parallel, but few enough that all of
	// them are served within about a second. defaultKeyInFlight is the maximum for one API key. A request keeps
	// its connection, even while it waits for a turn or for another request with the same Idempotency-Key, so
	// the maximum is a third of the connections that the program allows by default.
	defaultInFlight    = 1024
	defaultKeyInFlight = 333
	// maxWaiting is the maximum number of requests of one kind that wait for their turn or have it, and
	// maxKeyWaiting is the maximum for one API key.
	maxWaiting    = 256
	maxKeyWaiting = 64
)
