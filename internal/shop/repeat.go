package shop

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// keepFor is how long an answer is kept under its idempotency key.
	keepFor = 24 * time.Hour
	// waitFor is how long a repeat waits while the first request still runs.
	waitFor = 5 * time.Second
)

// Repeat makes a write happen once, however often it is asked for under the same idempotency key.
type Repeat struct {
	Principal int64 // whose idempotency key it is
	Key       string
	// Fingerprint tells requests apart that must not share a key.
	Fingerprint [32]byte
	// Answer makes what is kept from what the write made. It must leave out every secret.
	Answer func(result any) Answer
}

// Answer is what was answered, to be answered again byte for byte. The shop does not look inside.
type Answer struct {
	Status   int
	Location string // of what was made; "" where it has none
	Tag      string // the entity tag; "" where it has none
	Body     []byte
}

// KeptAnswer is an answer with the request that it belongs to.
type KeptAnswer struct {
	Fingerprint [32]byte
	At          time.Time // by the store's clock
	Answer
}

// Replay is the error of a write that has happened before: its answer then.
type Replay struct{ Answer }

func (*Replay) Error() string { return "this was done before, under the same idempotency key" }

type repeatKey struct{}

// WithRepeat returns a context under which the next write happens once.
func WithRepeat(ctx context.Context, r *Repeat) context.Context {
	return context.WithValue(ctx, repeatKey{}, r)
}

func repeatOf(ctx context.Context) *Repeat {
	r, _ := ctx.Value(repeatKey{}).(*Repeat)
	return r
}

// check returns a Replay where the write has happened, or idempotency_key_reused where another has under this key.
func (s *Service) check(tx ReadTx, r *Repeat) error {
	if r == nil {
		return nil
	}
	kept, found, err := tx.Kept(r.Principal, r.Key)
	if err != nil || !found {
		return err
	}
	if over, err := s.longPast(tx, keepFor); err != nil || !kept.At.After(over) {
		return err
	}
	if kept.Fingerprint != r.Fingerprint {
		return Errorf(IdempotencyKeyReused, "This Idempotency-Key was used for another request; use a new one for each request.")
	}
	return &Replay{kept.Answer}
}

// Replayed returns the answer of a request that was answered before, and whether it was. It returns
// idempotency_key_reused where another request was answered under the same key.
func (s *Service) Replayed(ctx context.Context, r *Repeat) (Answer, bool, error) {
	err := s.store.Read(ctx, func(tx ReadTx) error { return s.check(tx, r) })
	if replay, ok := errors.AsType[*Replay](err); ok {
		return replay.Answer, true, nil
	}
	return Answer{}, false, err
}

// keep keeps the answer in the transaction of the write.
func (r *Repeat) keep(tx WriteTx, result any) error {
	return tx.Keep(r.Principal, r.Key, KeptAnswer{Fingerprint: r.Fingerprint, Answer: r.Answer(result)})
}

// ForgetAnswers removes the answers whose time is over.
func (s *Service) ForgetAnswers(ctx context.Context) error {
	return s.inParts(ctx, func(tx WriteTx) (bool, error) {
		over, err := s.longPast(tx, keepFor)
		if err != nil {
			return false, err
		}
		return tx.Forget(over)
	})
}

// running knows the idempotency keys of the writes that run on this node, so that a repeat waits for the first.
type running struct {
	mu   sync.Mutex
	done map[runningKey]chan struct{}
}

type runningKey struct {
	principal int64
	key       string
}

func newRunning() *running { return &running{done: map[runningKey]chan struct{}{}} }

// enter waits until nobody else runs under the same key, and then holds it until leave is called. It returns
// idempotency_key_in_use where that takes too long.
func (r *running) enter(ctx context.Context, repeat *Repeat) (leave func(), err error) {
	key := runningKey{repeat.Principal, repeat.Key}
	patience := time.NewTimer(waitFor)
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
