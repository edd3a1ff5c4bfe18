// Package shop is the domain of an animal store: its types, its rules, the Service that applies them, and the
// Store interface that it needs. It knows neither HTTP nor SQL.
package shop

import (
	"context"
	"sync/atomic"
	"time"
)

// Options configure a Service.
type Options struct {
	// Environment is the environment that the store must belong to; a new store adopts it. If empty, any
	// store is accepted, and a new one becomes production.
	Environment Environment
	// ConfiguredKey is accepted as a key with the scope admin. It is never stored. Empty means none.
	ConfiguredKey string
	// KnownCategories refuses animals of unknown categories. Otherwise the category is created with the animal.
	KnownCategories bool
	// OrderHold is how long a placed order holds its animal. Zero means DefaultOrderHold.
	OrderHold time.Duration
	// Source names this shop in its events. Empty means DefaultSource.
	Source string
	// EventRetention is how long events are kept. Zero means forever.
	EventRetention time.Duration
	// Now is this node's clock; nil means time.Now. Holds, events and deliveries use the store's clock instead.
	Now func() time.Time
}

// Service applies the shop's rules. The API, the staff pages and the commands all go through it.
type Service struct {
	store           Store
	environment     Environment
	configured      *Key // nil if there is none
	configuredHash  SecretHash
	configuredText  string // for Redact
	knownCategories bool
	orderHold       time.Duration
	source          string
	eventRetention  time.Duration
	clock           func() time.Time
	feed            *feed
	nextHoldCache   atomic.Pointer[holdExpiry] // nil until it is first read
	keyCache        *keyCache
	lastUsed        *lastUsed
	inFlight        *inFlight
	stats           statsCache
	clockGuard      *clockGuard
}

// Open returns a Service on a store. It returns ErrOtherEnvironment if the store belongs to another
// environment.
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

// Ready returns unavailable if the store cannot be read or would refuse a write. The message is safe to
// publish.
func (s *Service) Ready(ctx context.Context) error { return s.store.Ready(ctx) }

// Now returns the time of this node's clock.
func (s *Service) Now() time.Time { return s.clock() }

// now returns the time of this node's clock as it is stored: in UTC, with microseconds.
func (s *Service) now() time.Time { return s.clock().UTC().Truncate(time.Microsecond) }
