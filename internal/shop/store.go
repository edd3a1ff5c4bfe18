package shop

import (
	"context"
	"time"
)

// Store persists the shop. Each resource declares in its own file which methods it needs of a transaction.
//
// Read and Write run a closure in a transaction and return the closure's error. When Write returns nil,
// everything the closure wrote is durable; when it returns an error, nothing was written. A closure may run
// more than once, so it must not have effects outside its transaction and must overwrite, not extend, the
// variables it sets. After a failed statement the transaction is aborted: every later call in it fails, too,
// and so does the transaction.
//
// Both return unavailable if the database cannot be reached within the usual timeout, or within
// WithRetryBudget's. Any other error that is not the closure's is a bug.
type Store interface {
	Read(ctx context.Context, fn func(ReadTx) error) error
	Write(ctx context.Context, fn func(WriteTx) error) error

	// Ready returns unavailable if the store cannot be read or would refuse a write. The message is safe to
	// publish.
	Ready(ctx context.Context) error

	// CatalogVersion returns the current version of the catalogue. ok is false if other processes may change
	// the catalogue without this store noticing.
	CatalogVersion() (version CatalogVersion, ok bool)

	// Publish assigns positions to the events of all committed writes, which makes them readable. It returns
	// the same errors as Write.
	Publish(ctx context.Context) error
	// Wakeups receives a value soon after a write by this process and, where the engine supports it, by
	// others. It is a hint for a single listener: some wake-ups are spurious, and some may be lost.
	Wakeups() <-chan struct{}
}

// ReadTx reads one consistent snapshot of the shop. Its methods take no context: several callers may share a
// transaction, and one that gives up must not abort it for the others.
type ReadTx interface {
	SettingsReader
	PetReader
	CategoryReader
	OrderReader
	EventReader
	WebhookReader
	DeliveryReader
	KeyReader
	SessionReader
	IdempotencyReader
}

// Mutations are the changes of the shop that clients can observe. Each of them is recorded as an event by
// eventTx, the only type that calls them.
type Mutations interface {
	PetMutations
	CategoryMutations
	OrderMutations
	WebhookMutations
	KeyMutations
}

// Bookkeeping changes what no event reports: events themselves, secrets, deliveries, sessions and other
// internal state.
type Bookkeeping interface {
	SettingsBookkeeping
	CategoryBookkeeping
	EventBookkeeping
	WebhookBookkeeping
	DeliveryBookkeeping
	KeyBookkeeping
	SessionBookkeeping
	IdempotencyBookkeeping
}

// BookkeepingTx is a write transaction that cannot change the shop.
type BookkeepingTx interface {
	ReadTx
	Bookkeeping
}

// WriteTx is a write transaction. Concurrent write transactions are serializable.
type WriteTx interface {
	BookkeepingTx
	Mutations
}

// SettingsReader reads what concerns the store as a whole.
type SettingsReader interface {
	// Environment returns what SetEnvironment stored, or "".
	Environment() (Environment, error)
	// Demo reports whether SetDemo was called.
	Demo() (bool, error)
	// Now returns the time of the store's clock, which all nodes share. Holds expire by it.
	Now() (time.Time, error)
}

// SettingsBookkeeping changes what concerns the store as a whole.
type SettingsBookkeeping interface {
	SetEnvironment(Environment) error
	// SetDemo marks a store that is filled with demo data.
	SetDemo() error
	// Maintain does part of the store's own maintenance and reports whether there may be more. Internal rows
	// from before the given time are no longer needed.
	Maintain(before time.Time) (more bool, err error)
	// ClampFutureTimes moves stored times that are further ahead of now than lead allows back into that range.
	ClampFutureTimes(now time.Time, lead MaxLead) error
}
