package shop

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// idempotencyRetention is how long a response is stored under its idempotency key.
	idempotencyRetention = 24 * time.Hour
	// idempotencyWait is how long a repeated request waits while the first one is in flight.
	idempotencyWait = 5 * time.Second
)

// IdempotentRequest makes a write happen once, however often the request is sent with the same idempotency key.
type IdempotentRequest struct {
	Principal int64 // idempotency keys of different principals are independent
	Key       string
	// Fingerprint identifies the request. Different requests must not share a key.
	Fingerprint [32]byte
	// Response encodes the result of the write for storage. It must leave out every secret.
	Response func(result any) StoredResponse
}

// StoredResponse is a response to be sent again byte for byte. The shop does not interpret it.
type StoredResponse struct {
	Status   int
	Location string // the Location header, or ""
	Tag      string // the ETag header, or ""
	Body     []byte
}

// IdempotencyRecord is a stored response with the fingerprint of its request.
type IdempotencyRecord struct {
	Fingerprint [32]byte
	At          time.Time // by the store's clock
	StoredResponse
}

// ReplayError is returned instead of repeating a write. It carries the stored response.
type ReplayError struct{ StoredResponse }

func (*ReplayError) Error() string {
	return "the request was already executed under the same idempotency key"
}

type idempotencyKey struct{}

// WithIdempotency returns a context whose write happens once for all requests with the same key.
func WithIdempotency(ctx context.Context, r *IdempotentRequest) context.Context {
	return context.WithValue(ctx, idempotencyKey{}, r)
}

func idempotentRequestOf(ctx context.Context) *IdempotentRequest {
	r, _ := ctx.Value(idempotencyKey{}).(*IdempotentRequest)
	return r
}

// checkIdempotency returns a ReplayError if the write has happened, or idempotency_key_reused if a different
// request has used the key. Both hold for idempotencyRetention.
func (s *Service) checkIdempotency(tx ReadTx, r *IdempotentRequest) error {
	if r == nil {
		return nil
	}
	record, found, err := tx.IdempotencyRecord(r.Principal, r.Key)
	if err != nil || !found {
		return err
	}
	if cutoff, err := s.cutoff(tx, idempotencyRetention); err != nil || !record.At.After(cutoff) {
		return err
	}
	if record.Fingerprint != r.Fingerprint {
		return Errorf(IdempotencyKeyReused, "This Idempotency-Key was already used for a different request; use a new key for each request.")
	}
	return &ReplayError{record.StoredResponse}
}

// FindStoredResponse returns the stored response of a request and whether there is one. It returns
// idempotency_key_reused if a different request has used the key.
func (s *Service) FindStoredResponse(ctx context.Context, r *IdempotentRequest) (StoredResponse, bool, error) {
	err := s.store.Read(ctx, func(tx ReadTx) error { return s.checkIdempotency(tx, r) })
	if replay, ok := errors.AsType[*ReplayError](err); ok {
		return replay.StoredResponse, true, nil
	}
	return StoredResponse{}, false, err
}

// save stores the response in the transaction of the write, so that neither exists without the other.
func (r *IdempotentRequest) save(tx BookkeepingTx, result any) error {
	return tx.PutIdempotencyRecord(r.Principal, r.Key, IdempotencyRecord{Fingerprint: r.Fingerprint, StoredResponse: r.Response(result)})
}

// PruneIdempotencyRecords removes the records that are older than idempotencyRetention.
func (s *Service) PruneIdempotencyRecords(ctx context.Context) error {
	return s.inBatches(ctx, func(tx BookkeepingTx) (bool, error) {
		cutoff, err := s.cutoff(tx, idempotencyRetention)
		if err != nil {
			return false, err
		}
		return tx.DeleteIdempotencyRecords(cutoff)
	})
}

// inFlight holds the idempotency keys of the writes that this node is executing, so that a repeated request
// waits for the first one. Across nodes the store's transactions decide.
type inFlight struct {
	mu   sync.Mutex
	done map[inFlightKey]chan struct{} // closed when the write has ended
}

type inFlightKey struct {
	principal int64
	key       string
}

func newInFlight() *inFlight { return &inFlight{done: map[inFlightKey]chan struct{}{}} }

// acquire waits until no other write with the same key is in flight and reserves the key until release is
// called. It returns idempotency_key_in_use after idempotencyWait, or unavailable if the context ends.
func (f *inFlight) acquire(ctx context.Context, r *IdempotentRequest) (release func(), err error) {
	key := inFlightKey{r.Principal, r.Key}
	timeout := time.NewTimer(idempotencyWait)
	defer timeout.Stop()
	for {
		f.mu.Lock()
		other, taken := f.done[key]
		if !taken {
			own := make(chan struct{})
			f.done[key] = own
			f.mu.Unlock()
			return func() {
				f.mu.Lock()
				delete(f.done, key)
				f.mu.Unlock()
				close(own)
			}, nil
		}
		f.mu.Unlock()
		select {
		case <-other:
		case <-timeout.C:
			return nil, Errorf(IdempotencyKeyInUse, "The first request with this Idempotency-Key is still being processed; try again shortly.")
		case <-ctx.Done():
			return nil, UnavailableError(ctx.Err())
		}
	}
}

// IdempotencyReader reads idempotency records.
type IdempotencyReader interface {
	// IdempotencyRecord returns the record of a principal's idempotency key and whether there is one, however
	// old.
	IdempotencyRecord(principal int64, key string) (IdempotencyRecord, bool, error)
}

// IdempotencyBookkeeping changes idempotency records.
type IdempotencyBookkeeping interface {
	// PutIdempotencyRecord stores a record in place of any older one. A record without a time gets the store's.
	PutIdempotencyRecord(principal int64, key string, record IdempotencyRecord) error
	// DeleteIdempotencyRecords removes some of the records from before a time and reports whether there may
	// be more.
	DeleteIdempotencyRecords(before time.Time) (more bool, err error)
}
