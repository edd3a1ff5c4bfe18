package shop

import (
	"context"
	"time"
)

// Store persists the shop. The transaction methods for each resource are declared in the file for that
// resource.
//
// Read and Write run a closure in a transaction and return the error returned by the closure. If Write
// returns nil, everything that the closure wrote is durable. If Write returns an error, nothing was written.
// A closure may run more than once. Therefore it must not have effects outside its transaction, and it must
// overwrite the variables that it sets instead of extending them. After a failed statement, the transaction
// is aborted. Every later call in the transaction then fails, and so does the transaction itself.
//
// Read and Write fail with unavailable if the database cannot be reached within the usual timeout or their budget,
// whichever is longer. A read that takes longer is interrupted, and so is a read whose context ends. Any other error
// that was not returned by the closure is a bug.
type Store interface {
	Read(ctx context.Context, r Reading, fn func(ReadTx) error) error
	Write(ctx context.Context, w Writing, fn func(WriteTx) error) error

	// Ready fails with unavailable if the store cannot be read or would refuse a write. The error message
	// is safe to publish.
	Ready(ctx context.Context) error

	// ReadLimits returns how many heavy reads may run at the same time and how long a read may take.
	ReadLimits() ReadLimits

	// CurrentVersion returns the version that the catalogue has at some time during the call, and the time of the
	// store's clock at that moment or shortly after it. Callers use it to find out whether the catalogue still has
	// the version seen. If the catalogue has another version, or may have one, the result may be the zero version.
	CurrentVersion(ctx context.Context, seen CatalogVersion) (CatalogVersion, time.Time)

	// Publish assigns positions to the events of all committed writes, which makes these events readable.
	// It fails with the same errors as Write.
	Publish(ctx context.Context) error
	// Wakeups returns a channel that receives a value soon after this process has written to the store.
	// If the database engine supports it, the channel also receives a value after another process has
	// written. The values are only hints, because some are sent without a write and some may be lost.
	// There must be only one listener.
	Wakeups() <-chan struct{}
}

// Reading says what a read needs and how much it may cost. The zero value is a short read of any rows.
type Reading struct {
	By Caller // who reads; its heavy reads take turns with those of other callers
	// Heavy means that the read may take long. The Service runs at most ReadLimits.Heavy of these at the same time.
	Heavy bool
	// SingleQuery means that the closure probably executes only one query. A store on a server then saves the round
	// trips that begin and end a transaction. A read that executes more queries still works, but takes longer.
	SingleQuery bool
	// State is set to the state of the catalogue in the snapshot that was read, unless State is nil. Its version is zero
	// unless Version is set. It is also zero if the store might not notice a later change.
	State   *CatalogState
	Version bool
	// Window means that the version is that of the shop window: only changes of published animals, of categories and of the
	// settings must change it. Others may.
	Window bool
	Budget time.Duration // how long the read may take if that is longer than usual
}

// Writing says what a write is. The zero value is a write of the shop itself that may use any rows.
type Writing struct {
	By Caller // who writes; its writes take turns with those of other callers
	// Rows are the rows that the write reads and changes, together with the record of its idempotent request. If Rows is
	// nil, the write may use any rows.
	Rows *WriteSet
	// Texts means that the write may add, change or remove a text that can be searched. While too many texts wait for the
	// search index, the store indexes these texts in the transaction of the write.
	Texts bool
	// Erases means that the write removes personal data. The store indexes the texts that the write changes in the same
	// transaction, and overwrites what its files still contain of the data as soon as it can.
	Erases   bool
	Priority Priority
	Budget   time.Duration // how long the write may take if that is longer than usual
}

// Priority says how urgent a write is. A store with a single writer lets interactive writes go first, and limits the time
// that all others take away from them.
type Priority int

const (
	Interactive Priority = iota // a client waits for the write
	Bulk                        // the write is an import: a client waits for it, but it does the work of thousands of others
	Background                  // nobody waits for the write, which should take a few milliseconds at most
)

// WriteSet contains the ids of the rows that a write reads and changes. A store can use it to run many writes in one
// transaction. If a write needs any other rows, the store must run it in a transaction of its own.
type WriteSet struct {
	Categories []int64 // the categories of the animals that the write adds
	Pets       []int64 // the animals for which the write places orders
	Orders     []int64 // the orders that the write changes; it may change their animals, too
}

// ReadTx reads one consistent snapshot of the shop. Its methods take no context, because several callers may
// share a transaction. If one caller gives up, the transaction must not be aborted for the others.
type ReadTx interface {
	SettingsReader
	PetReader
	ProfileReader
	PhotoReader
	CategoryReader
	OrderReader
	EventReader
	WebhookReader
	DeliveryReader
	KeyReader
	SessionReader
	SignInLinkReader
	IdempotencyReader
	SearchReader
	WindowReader
}

// Mutations contains the changes to the shop that clients can observe. Only eventTx calls these methods, and
// it records an event for each call.
type Mutations interface {
	SettingsMutations
	PetMutations
	ProfileMutations
	CategoryMutations
	OrderMutations
	WebhookMutations
	KeyMutations
}

// Bookkeeping contains the writes that are not reported by events. They change internal state such as
// secrets, deliveries, sessions and the events themselves.
type Bookkeeping interface {
	SettingsBookkeeping
	PetBookkeeping
	PhotoBookkeeping
	CategoryBookkeeping
	EventBookkeeping
	WebhookBookkeeping
	DeliveryBookkeeping
	KeyBookkeeping
	SessionBookkeeping
	SignInLinkBookkeeping
	IdempotencyBookkeeping
	SearchBookkeeping
}

// BookkeepingTx is a write transaction that can change internal state but cannot make changes that must be
// recorded as events.
type BookkeepingTx interface {
	ReadTx
	Bookkeeping
}

// WriteTx is a write transaction that can make any change. Concurrent write transactions are serializable.
type WriteTx interface {
	BookkeepingTx
	Mutations
}

// SettingsReader contains the methods of ReadTx that read the store's settings and its clock.
type SettingsReader interface {
	// Environment returns the environment stored by SetEnvironment, or "" if none has been stored.
	Environment() (Environment, error)
	// Demo reports whether SetDemo has ever been called for this store.
	Demo() (bool, error)
	// Settings returns the shop's settings, or DefaultSettings if none have been stored.
	Settings() (Settings, error)
	// Now returns the current time of the store's clock. All nodes share this clock, and holds expire according to it.
	Now() (time.Time, error)
}

// SettingsBookkeeping contains the methods of Bookkeeping that change the store's settings or maintain the
// store.
type SettingsBookkeeping interface {
	SetEnvironment(Environment) error
	// SetDemo marks the store as being filled with demo data.
	SetDemo() error
	// Maintain does a limited amount of the store's internal maintenance and reports whether there may be more to do. It
	// removes rows that are too old at the time now.
	Maintain(now time.Time) (more bool, err error)
	// EndWhenIdle makes the store roll this transaction back if the process does not continue it for several seconds,
	// so that a frozen node does not keep rows locked.
	EndWhenIdle() error
}
