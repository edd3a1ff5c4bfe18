package shop

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// idempotencyRetention is how long an answer is kept under its idempotency key.
	idempotencyRetention = 24 * time.Hour
	// idempotencyWait is how long a repeat waits while the first request still runs.
	idempotencyWait = 5 * time.Second
)

// IdempotentRequest makes a write happen once, however often it is asked for under the same idempotency key.
type IdempotentRequest struct {
	Principal int64 // whose idempotency key it is
	Key       string
	// Fingerprint tells requests apart that must not share a key.
	Fingerprint [32]byte
	// Response makes what is kept from what the write made. It must leave out every secret.
	Response func(result any) StoredResponse
}

// StoredResponse is what was answered, to be answered again byte for byte. The shop does not look inside.
type StoredResponse struct {
	Status   int
	Location string // of what was made; "" where it has none
	Tag      string // the entity tag; "" where it has none
	Body     []byte
}

// IdempotencyRecord is an answer with the request that it belongs to.
type IdempotencyRecord struct {
	Fingerprint [32]byte
	At          time.Time // by the store's clock
	StoredResponse
}

// ReplayError is the error of a write that has happened before: its answer then.
type ReplayError struct{ StoredResponse }

func (*ReplayError) Error() string { return "this was done before, under the same idempotency key" }

type idempotencyKey struct{}

// WithIdempotency returns a context under which the next write happens once.
func WithIdempotency(ctx context.Context, r *IdempotentRequest) context.Context {
	return context.WithValue(ctx, idempotencyKey{}, r)
}

func idempotentRequestOf(ctx context.Context) *IdempotentRequest {
	r, _ := ctx.Value(idempotencyKey{}).(*IdempotentRequest)
	return r
}

// checkIdempotency returns a Replay where the write has happened, or idempotency_key_reused where another has under this key.
func (s *Service) checkIdempotency(tx ReadTx, r *IdempotentRequest) error {
	if r == nil {
		return nil
	}
	kept, found, err := tx.IdempotencyRecord(r.Principal, r.Key)
	if err != nil || !found {
		return err
	}
	if over, err := s.cutoff(tx, idempotencyRetention); err != nil || !kept.At.After(over) {
		return err
	}
	if kept.Fingerprint != r.Fingerprint {
		return Errorf(IdempotencyKeyReused, "This Idempotency-Key was used for another request; use a new one for each request.")
	}
	return &ReplayError{kept.StoredResponse}
}

// FindStoredResponse returns the answer of a request that was answered before, and whether it was. It returns
// idempotency_key_reused where another request was answered under the same key.
func (s *Service) FindStoredResponse(ctx context.Context, r *IdempotentRequest) (StoredResponse, bool, error) {
	err := s.store.Read(ctx, func(tx ReadTx) error { return s.checkIdempotency(tx, r) })
	if replay, ok := errors.AsType[*ReplayError](err); ok {
		return replay.StoredResponse, true, nil
	}
	return StoredResponse{}, false, err
}

// save keeps the answer in the transaction of the write.
func (r *IdempotentRequest) save(tx BookkeepingTx, result any) error {
	return tx.PutIdempotencyRecord(r.Principal, r.Key, IdempotencyRecord{Fingerprint: r.Fingerprint, StoredResponse: r.Response(result)})
}

// PruneIdempotencyRecords removes the answers whose time is over.
func (s *Service) PruneIdempotencyRecords(ctx context.Context) error {
	return s.inBatches(ctx, func(tx BookkeepingTx) (bool, error) {
		over, err := s.cutoff(tx, idempotencyRetention)
		if err != nil {
			return false, err
		}
		return tx.DeleteIdempotencyRecords(over)
	})
}

// inFlight knows the idempotency keys of the writes that run on this node, so that a repeat waits for the first.
type inFlight struct {
	mu   sync.Mutex
	done map[inFlightKey]chan struct{}
}

type inFlightKey struct {
	principal int64
	key       string
}

func newInFlight() *inFlight { return &inFlight{done: map[inFlightKey]chan struct{}{}} }

// acquire waits until nobody else runs under the same key, and then holds it until leave is called. It returns
// idempotency_key_in_use where that takes too long.
func (r *inFlight) acquire(ctx context.Context, repeat *IdempotentRequest) (leave func(), err error) {
	key := inFlightKey{repeat.Principal, repeat.Key}
	patience := time.NewTimer(idempotencyWait)
	defer patience.Stop()
	for {
		r.mu.Lock()
		other, taken := r.done[key]
		if !taken {
			own := make(chan struct{})
			r.done[key] = own
			r.mu.Unlock()
			return func() {
				r.mu.Lock()
				delete(r.done, key)
				r.mu.Unlock()
				close(own)
			}, nil
		}
		r.mu.Unlock()
		select {
		case <-other:
		case <-patience.C:
			return nil, Errorf(IdempotencyKeyInUse, "The first request with this Idempotency-Key still runs; send it again shortly.")
		case <-ctx.Done():
			return nil, UnavailableError(ctx.Err())
		}
	}
}

// IdempotencyReader reads idempotency records.
type IdempotencyReader interface {
	// IdempotencyRecord returns the record of a principal's idempotency key and whether there is one, however old.
	IdempotencyRecord(principal int64, key string) (IdempotencyRecord, bool, error)
}

// IdempotencyBookkeeping changes idempotency records.
type IdempotencyBookkeeping interface {
	// PutIdempotencyRecord stores a record in place of any older one. A record without a time gets the store's.
	PutIdempotencyRecord(principal int64, key string, record IdempotencyRecord) error
	// DeleteIdempotencyRecords removes some of the records from before a time and reports whether there may be more.
	DeleteIdempotencyRecords(before time.Time) (more bool, err error)
}
