// Package shop contains the domain of an animal store. It defines the types, the rules, the Service that
// applies the rules, and the Store interface that the Service needs. It knows nothing about HTTP or SQL.
package shop

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"
)

// Options contains the settings for a Service.
type Options struct {
	// Environment is the environment that the store must belong to. A new store is assigned to it. If
	// Environment is empty, any store is accepted and a new store is assigned to production.
	Environment Environment
	// ConfiguredKey is the secret of an additional key with the admin scope. This key is never stored. If
	// ConfiguredKey is empty, there is no such key.
	ConfiguredKey string
	// KnownCategories makes the service refuse animals whose category does not exist. If it is false, a
	// missing category is created together with the animal.
	KnownCategories bool
	// OrderHold is how long a placed order holds its animal. If it is zero, DefaultOrderHold is used.
	OrderHold time.Duration
	// Source identifies this shop in its events. If it is empty, DefaultSource is used.
	Source string
	// PhotoQuota is how many bytes all photos together may have. If it is zero, DefaultPhotoQuota is used.
	PhotoQuota int64
	// EventRetention is how long events are kept. If it is zero, they are kept forever.
	EventRetention time.Duration
	// CustomerRetention is how long the customer of an order is kept after the order was closed. If it is zero, customers
	// are kept until somebody erases them.
	CustomerRetention time.Duration
	// Now is this node's clock. If it is nil, time.Now is used. Holds, events and deliveries use the
	// store's clock instead of this one.
	Now func() time.Time
	// Location is the shop's time zone unless its settings have another. If it is nil, UTC is used.
	Location *time.Location
	// OnIndexing is called from time to time while many animals, orders and names of categories are indexed,
	// and once when that is done. It may be nil.
	OnIndexing func(IndexProgress)
	// Traceparent returns the traceparent of the request that a context belongs to, or "" if the request is not
	// traced. The traceparent is stored with events and returned with messages. If the function is nil, tracing is off.
	Traceparent func(context.Context) string
}

// Service applies the shop's rules. The API, the staff pages and the commands all access the shop through a
// Service.
type Service struct {
	store             Store
	environment       Environment
	configured        *Key // the key from Options.ConfiguredKey, or nil if there is none
	configuredHash    SecretHash
	configuredText    string // the secret from Options.ConfiguredKey, which Redact replaces
	knownCategories   bool
	orderHold         time.Duration
	source            string
	eventRetention    time.Duration
	customerRetention time.Duration
	clock             func() time.Time
	current           *currentSettings
	feed              *feed
	keyCache          *keyCache
	keyUses           *lastUses[int64]
	sessionUses       *lastUses[SecretHash]
	inFlight          *inFlight
	heavyReads        *heavyReads
	indexing          indexing
	onIndexing        func(IndexProgress)
	traceparent       func(context.Context) string // nil if tracing is off
	photoQuota        int64
	photoRemovals     atomic.Int64
}

// Open returns a Service that uses the given store. It returns ErrOtherEnvironment if the store does not
// belong to the environment in the options.
func Open(ctx context.Context, store Store, o Options) (*Service, error) {
	s := &Service{
		store: store, knownCategories: o.KnownCategories, orderHold: o.OrderHold,
		source: o.Source, eventRetention: o.EventRetention, customerRetention: o.CustomerRetention, clock: o.Now, current: newCurrentSettings(o.Location), onIndexing: o.OnIndexing,
		traceparent: o.Traceparent, photoQuota: cmp.Or(o.PhotoQuota, DefaultPhotoQuota),
		keyCache: newKeyCache(), keyUses: newLastUses[int64](), sessionUses: newLastUses[SecretHash](), inFlight: newInFlight(), feed: newFeed(),
		indexing: indexing{again: make(chan struct{}, 1)}, heavyReads: newHeavyReads(store.ReadLimits()),
	}
	if err := s.adoptEnvironment(ctx, o.Environment); err != nil {
		return nil, err
	}
	if err := s.RefreshSettings(ctx); err != nil {
		return nil, err
	}
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

// Ready fails with unavailable if the store cannot be read or would refuse a write. The error message is safe
// to publish.
func (s *Service) Ready(ctx context.Context) error { return s.store.Ready(ctx) }

// Now returns the current time of this node's clock.
func (s *Service) Now() time.Time { return s.clock() }

// now returns the current time of this node's clock in UTC, truncated to microseconds. Times are stored in
// this form.
func (s *Service) now() time.Time { return s.clock().UTC().Truncate(time.Microsecond) }

// cutoff returns the time by the store's clock before which everything is older than age.
func cutoff(tx ReadTx, age time.Duration) (time.Time, error) {
	now, err := tx.Now()
	return now.Add(-age), err
}

// latest returns the later of two times. It keeps updatedAt from going backwards when the clock is set back.
func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
