// Package shop is what an animal store is: its animals, its keys, and the rules that hold between them. It knows
// neither HTTP nor SQL.
package shop

import (
	"context"
	"sync/atomic"
	"time"
)

// Options are what a Service is told when it opens.
type Options struct {
	// Environment is what the store must belong to; a new store takes it on. Empty takes a new store to
	// production and any other as it is.
	Environment Environment
	// ConfiguredKey is accepted with the scope admin and stored nowhere; empty: none.
	ConfiguredKey string
	// KnownCategories refuses animals of a category that there is not, in place of bringing it into being.
	KnownCategories bool
	// OrderHold is how long a placed order holds its animal; zero: DefaultOrderHold.
	OrderHold time.Duration
	// Source names this shop in its events; empty: DefaultSource.
	Source string
	// EventRetention is how long events are kept; zero: for ever.
	EventRetention time.Duration
	// Now is the clock; nil: the system's. Holds, events and deliveries go by the store's own.
	Now func() time.Time
}

// Service is the shop, open. Everything that a client, a page or a command does goes through it.
type Service struct {
	store           Store
	environment     Environment
	configured      *Key // nil: none
	configuredHash  SecretHash
	configuredText  string // to keep it out of the log
	knownCategories bool
	orderHold       time.Duration
	source          string
	eventRetention  time.Duration
	clock           func() time.Time
	feed            *feed
	nextHoldCache   atomic.Pointer[holdExpiry] // nil: not known yet
	keyCache        *keyCache
	lastUsed        *lastUsed
	inFlight        *inFlight
	stats           statsCache
	clockGuard      *clockGuard
}

// Open opens the shop on a store. It refuses one of another environment.
func Open(ctx context.Context, store Store, o Options) (*Service, error) {
	s := &Service{
		store: store, knownCategories: o.KnownCategories, orderHold: o.OrderHold,
		source: o.Source, eventRetention: o.EventRetention, clock: o.Now,
		keyCache: newKeyCache(), lastUsed: newLastUsed(), inFlight: newInFlight(), feed: newFeed(),
	}
	if err := s.adoptEnvironment(ctx, o.Environment); err != nil {
		return nil, err
	}
	now, err := read(ctx, s, ReadTx.Now)
	if err != nil {
		return nil, err
	}
	s.clockGuard = newClockGuard(now)
	if s.source == "" {
		s.source = DefaultSource
	}
	if s.orderHold == 0 {
		s.orderHold = DefaultOrderHold
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	if o.ConfiguredKey != "" {
		s.configured = &Key{Name: "configured", Scopes: []Scope{Admin}, Hint: hint(o.ConfiguredKey), CreatedAt: s.now()}
		s.configuredHash, s.configuredText = HashSecret(o.ConfiguredKey), o.ConfiguredKey
	}
	return s, nil
}

// Ready returns unavailable where the store cannot be read or would not be written; its message says why, to anybody.
func (s *Service) Ready(ctx context.Context) error { return s.store.Ready(ctx) }

// Now is the time by the clock of this node.
func (s *Service) Now() time.Time { return s.clock() }

// now is the time as it is stored: in UTC, to the microsecond.
func (s *Service) now() time.Time { return s.clock().UTC().Truncate(time.Microsecond) }
