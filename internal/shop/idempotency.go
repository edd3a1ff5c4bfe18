package shop

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// idempotencyRetention is how long the response to a request with an idempotency key is stored.
	idempotencyRetention = 24 * time.Hour
	// idempotencyWait is how long a repeated request waits for the first one to finish.
	idempotencyWait = 5 * time.Second
)

// IdempotentRequest makes a write happen only once, however often the request is repeated with the same
// idempotency key.
type IdempotentRequest struct {
	Principal int64 // the id of the API key; different API keys can use the same idempotency key
	Key       string
	// Fingerprint identifies the contents of the request. Requests with different contents must not use
	// the same idempotency key.
	Fingerprint [32]byte
	// Response encodes the result of the write so that it can be stored. The encoding must not contain
	// any secrets.
	Response func(result any) StoredResponse
}

// StoredResponse is a response that is stored so that it can be sent again byte for byte. The shop does not
// interpret it.
type StoredResponse struct {
	Status   int
	Location string // the Location header, or "" if there is none
	Tag      string // the ETag header, or "" if there is none
	Body     []byte
}

// IdempotencyRecord is a stored response together with the fingerprint of the request that it answers.
type IdempotencyRecord struct {
	Fingerprint [32]byte
	At          time.Time // when the record was stored, by the store's clock
	StoredResponse
}

// ReplayError is returned if a write has already happened and is therefore not repeated. It contains the
// stored response.
type ReplayError struct{ StoredResponse }

func (*ReplayError) Error() string {
	return "the request was already executed under the same idempotency key"
}

// checkIdempotency returns a ReplayError if the write has already happened. It fails with
// idempotency_key_reused if a different request has used the same idempotency key. It ignores records that
// are older than idempotencyRetention.
func (s *Service) checkIdempotency(tx ReadTx, r *IdempotentRequest) error {
	if r == nil {
		return nil
	}
	record, found, err := tx.IdempotencyRecord(r.Principal, r.Key)
	if err != nil || !found {
		return err
	}
	if cutoff, err := cutoff(tx, idempotencyRetention); err != nil || !record.At.After(cutoff) {
		return err
	}
	if record.Fingerprint != r.Fingerprint {
		return Errorf(IdempotencyKeyReused, "This Idempotency-Key was already used for a different request; use a new key for each request.")
	}
	return &ReplayError{record.StoredResponse}
}

// FindStoredResponse returns the stored response to a request and whether there is one. It fails with
// idempotency_key_reused if a different request has used the same idempotency key.
func (s *Service) FindStoredResponse(ctx context.Context, r *IdempotentRequest) (StoredResponse, bool, error) {
	err := s.store.Read(ctx, Reading{}, func(tx ReadTx) error { return s.checkIdempotency(tx, r) })
	if replay, ok := errors.AsType[*ReplayError](err); ok {
		return replay.StoredResponse, true, nil
	}
	return StoredResponse{}, false, err
}

// save stores the response in the same transaction as the write, so that neither can exist without the other.
func (r *IdempotentRequest) save(tx BookkeepingTx, result any) error {
	return tx.PutIdempotencyRecord(r.Principal, r.Key, IdempotencyRecord{Fingerprint: r.Fingerprint, StoredResponse: r.Response(result)})
}

// PruneIdempotencyRecords removes the records that are older than idempotencyRetention.
func (s *Service) PruneIdempotencyRecords(ctx context.Context) error {
	return s.inBatches(ctx, func(tx BookkeepingTx) (bool, error) {
		cutoff, err := cutoff(tx, idempotencyRetention)
		if err != nil {
			return false, err
		}
		return tx.DeleteIdempotencyRecords(cutoff)
	})
}

// inFlight holds the idempotency keys of the writes that are in progress on this node, so that a repeated
// request waits for the first one. If the requests arrive at different nodes, the store's transactions ensure
// that only one of them writes.
type inFlight struct {
	mu   sync.Mutex
	done map[inFlightKey]chan struct{} // each channel is closed when its write has ended
}

type inFlightKey struct {
	principal int64
	key       string
}

func newInFlight() *inFlight { return &inFlight{done: map[inFlightKey]chan struct{}{}} }

// acquire waits until no other write with the same key is in progress. It then reserves the key until release
// is called. It fails with idempotency_key_in_use after waiting for idempotencyWait, or with unavailable if
// the context ends.
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

// IdempotencyReader contains the method of ReadTx that reads idempotency records.
type IdempotencyReader interface {
	// IdempotencyRecord returns the record for a principal's idempotency key and whether there is one. It
	// returns records of any age.
	IdempotencyRecord(principal int64, key string) (IdempotencyRecord, bool, error)
}

// IdempotencyBookkeeping contains the methods of Bookkeeping that change idempotency records.
type IdempotencyBookkeeping interface {
	// PutIdempotencyRecord stores a record and replaces any existing record with the same key. If
	// record.At is zero, the record is stored with the current time of the store's clock.
	PutIdempotencyRecord(principal int64, key string, record IdempotencyRecord) error
	// DeleteIdempotencyRecords removes some of the records stored before the given time and reports
	// whether there may be more to remove.
	DeleteIdempotencyRecords(before time.Time) (more bool, err error)
}
