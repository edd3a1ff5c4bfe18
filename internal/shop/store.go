package shop

import (
	"context"
	"time"
)

// Store keeps the shop's data. It runs closures over transactions: what a closure wrote is there whole and durable when
// Write returns nil, and not at all when it returns an error.
//
// A closure may run more than once, so it has no effect outside its transaction and keeps nothing from a run before.
// After a failed statement the transaction is lost: every later call in it fails too.
//
// Both take no longer than a caller should wait, or than WithPatience says.
//
// Both return what the closure returned; unavailable where the database cannot be asked right now; and any other error
// for a fault of ours.
type Store interface {
	Read(ctx context.Context, fn func(ReadTx) error) error
	Write(ctx context.Context, fn func(WriteTx) error) error

	// Ready returns unavailable where the store cannot be read or would not be written, with a message that says what is
	// wrong in plain words and without a secret.
	Ready(ctx context.Context) error

	// CatalogVersion tells which catalogue there is now. ok is false where others may change it without this store knowing.
	CatalogVersion() (m CatalogVersion, ok bool)

	// Publish makes the events of all writes that are done readable, each with its position. It returns the same errors
	// as Write.
	Publish(ctx context.Context) error
	// Wakeups receives a value soon after a write, here or, where that can be had, elsewhere. It is a hint, for one
	// listener: some come for nothing, and some may be lost.
	Wakeups() <-chan struct{}
}

// ReadTx reads one consistent state of the shop. Its calls take no context of their own: a transaction may be shared
// with others, and a caller that goes away must not end it for them.
type ReadTx interface {
	// Environment returns what SetEnvironment wrote, or "".
	Environment() (Environment, error)
	// Demo tells whether SetDemo was called.
	Demo() (bool, error)

	// Now is the time by which holds run out: one for all who share the database.
	Now() (time.Time, error)

	// Pet returns one animal and whether there is one.
	Pet(id int64) (Pet, bool, error)
	// Pets returns at most list.Limit animals, in descending order of their ids.
	Pets(list PetList) ([]Pet, error)
	// PetsUpTo returns at most w.Limit animals with an id of last or less, in ascending order of their ids.
	PetsUpTo(last int64, w PageRequest) ([]Pet, error)
	// HasPets tells whether there is any animal.
	HasPets() (bool, error)
	// Inventory counts the animals by status, exactly.
	Inventory() (Inventory, error)
	// CountPets counts the animals by category and status. It takes as long as there are animals.
	CountPets() ([]PetCount, error)

	// Category returns one category and whether there is one.
	Category(id int64) (Category, bool, error)
	// Categories returns at most w.Limit categories, in ascending order of their ids.
	Categories(w PageRequest) ([]Category, error)
	// ExistingCategories returns those of these ids that are categories. Each is given once.
	ExistingCategories(ids []int64) ([]int64, error)
	// CategoriesByID returns those categories of some ids that there are, in no order.
	CategoriesByID(ids []int64) ([]Category, error)
	// CategoryInUse tells whether an animal names the category.
	CategoryInUse(id int64) (bool, error)

	// Order returns one order and whether there is one.
	Order(id int64) (Order, bool, error)
	// Orders returns at most list.Limit orders, in descending order of their ids.
	Orders(list OrderList) ([]Order, error)
	// OpenOrder returns the order that holds an animal and whether there is one.
	OpenOrder(petID int64) (Order, bool, error)
	// OpenOrders returns the orders that hold some animals, in no order.
	OpenOrders(petIDs []int64) ([]Order, error)
	// NextHold returns when the first of all holds runs out, or the zero time where there is none.
	NextHold() (time.Time, error)
	// DueOrders returns some of the placed orders whose hold has run out at a time, longest ago first.
	DueOrders(now time.Time) ([]Order, error)

	// Events returns at most w.Limit events, in ascending order of their positions, or the newest first. What it returns
	// never changes behind a reader: whatever is published later has a larger position.
	Events(filter EventFilter, w PageRequest) ([]StoredEvent, error)
	// DailyStats counts what came and went by the day, of the events after one position and up to another. Every day on which
	// any event was written is there, the oldest first.
	DailyStats(after, upTo int64) ([]DayStats, error)
	// LastEvent returns the position of the newest event, also where it has been removed or undone; 0 where there was none.
	LastEvent() (int64, error)
	// EventHorizon returns the position of the last event that was removed, or 0.
	EventHorizon() (int64, error)
	// ResumePosition returns from where the feed goes on for a reader at a position whose events a restore has undone; 0 where
	// it stands.
	ResumePosition(position int64) (int64, error)

	// Webhook returns one webhook and whether there is one.
	Webhook(id int64) (Webhook, bool, error)
	// Webhooks returns at most w.Limit webhooks, in descending order of their ids.
	Webhooks(w PageRequest) ([]Webhook, error)
	// WebhookSecrets returns what a webhook's messages are signed with at a time, the newest first.
	WebhookSecrets(id int64, now time.Time) ([]string, error)

	// Delivery returns one delivery to a webhook and whether there is one.
	Delivery(webhookID, id int64) (Delivery, bool, error)
	// Deliveries returns at most list.Limit deliveries to a webhook, in descending order of their ids.
	Deliveries(list DeliveryList) ([]Delivery, error)
	// DueDeliveries returns at most limit deliveries to a webhook that are to be tried at a time and that nobody has
	// claimed, longest due first.
	DueDeliveries(webhookID int64, now time.Time, limit int) ([]Delivery, error)

	// IdempotencyRecord returns what was kept under an idempotency key and whether anything was, however long ago.
	IdempotencyRecord(principal int64, key string) (IdempotencyRecord, bool, error)

	// Key returns one key and whether there is one.
	Key(id int64) (Key, bool, error)
	// Keys returns at most w.Limit keys, in descending order of their ids.
	Keys(w PageRequest) ([]Key, error)
	// Credential returns the key that a secret opens and whether there is one, also where its time has passed.
	Credential(hash SecretHash) (Credential, bool, error)
	// Session returns what a token's hash stands for and whether there is such a session, also where its time has passed.
	Session(token SecretHash) (Session, bool, error)
	// CountAdmins returns how many keys have the scope admin and have not expired.
	CountAdmins(now time.Time) (int, error)
}

// WriteTx reads and changes the shop, alone.
type WriteTx interface {
	ReadTx

	SetEnvironment(Environment) error
	// SetDemo marks a store whose contents are made up.
	SetDemo() error

	// InsertPet adds an animal of an existing category under an id larger than any before.
	InsertPet(NewPet) (Pet, error)
	// InsertPets is InsertPet for many, in their order.
	InsertPets([]NewPet) ([]Pet, error)
	// UpdatePet changes an animal from what it was to what it is.
	UpdatePet(before, after Pet) error
	// DeletePet removes an animal as it was.
	DeletePet(Pet) error

	// EnsureCategory brings a category into being where there is none with this id.
	EnsureCategory(id int64) (created bool, err error)
	// EnsureCategories is EnsureCategory for many, in ascending order and each once; it returns those that it created.
	EnsureCategories(ids []int64) (created []int64, err error)
	// InsertCategory adds a category under an id that no other has.
	InsertCategory(Category) error
	// UpdateCategory names a category anew.
	UpdateCategory(before, after Category) error
	// AssignCategoryID returns an id that no category has, larger than any that it has returned before.
	AssignCategoryID() (int64, error)
	// DeleteCategory removes a category that no animal names.
	DeleteCategory(Category) error

	// InsertOrder adds an order under an id larger than any before; its ID is ignored.
	InsertOrder(Order) (Order, error)
	// UpdateOrder changes the status and the times of an order.
	UpdateOrder(before, after Order) error

	// InsertEvent writes an event, after the change that it tells of. Events of changes that cannot have happened at once
	// get positions in the order of the changes.
	InsertEvent(NewEvent) error
	// InsertEvents is InsertEvent for many, in their order.
	InsertEvents([]NewEvent) error
	// RemoveEvents removes some of the oldest events, which were written before a time, and tells whether there may be more.
	// One that bears a time to come is as old as the one after it.
	RemoveEvents(before, now time.Time) (more bool, err error)

	// InsertWebhook adds a webhook under an id larger than any before; its ID is ignored.
	InsertWebhook(Webhook) (Webhook, error)
	// UpdateWebhook changes what a client can see of a webhook.
	UpdateWebhook(before, after Webhook) error
	// SetWebhookPosition notes the position up to which a webhook's events have become deliveries.
	SetWebhookPosition(id, position int64) error
	// SetWebhookFailing notes since when a webhook takes nothing; the zero time: it does.
	SetWebhookFailing(id int64, since time.Time) error
	// DeleteWebhook removes a webhook with its secrets. Its deliveries stay until their time is over.
	DeleteWebhook(Webhook) error
	// InsertWebhookSecret adds a secret to sign with.
	InsertWebhookSecret(id int64, secret string, now time.Time) error
	// ExpireWebhookSecrets lets no secret of a webhook sign any longer than until, and forgets those whose time has passed.
	ExpireWebhookSecrets(id int64, now, until time.Time) error

	// InsertDelivery adds a delivery under an id larger than any before; its ID is ignored.
	InsertDelivery(Delivery) (Delivery, error)
	// UpdateDelivery changes the status, the attempts and the times of a delivery.
	UpdateDelivery(Delivery) error
	// ParkDeliveries lets no delivery of a webhook be tried any more, until ResumeDeliveries lets those that are pending
	// be tried from a time on.
	ParkDeliveries(webhookID int64) error
	ResumeDeliveries(webhookID int64, at time.Time) error
	// RemoveDeliveries removes some of the oldest deliveries, which were made before a time, and tells whether there may
	// be more. One that bears a time to come is as old as the one after it.
	RemoveDeliveries(before, now time.Time) (more bool, err error)

	// Maintain does some of the store's own housekeeping, and tells whether there may be more. What it only needs for a while
	// is not needed any more where it is from before a time.
	Maintain(before time.Time) (more bool, err error)

	// ClampFutureTimes mends what a clock has written that was put back to now: what could not be so far ahead is brought near.
	ClampFutureTimes(now time.Time, most MaxLead) error

	// PutIdempotencyRecord keeps an answer in the place of any before it, from its time on, or from now on where it has none.
	PutIdempotencyRecord(principal int64, key string, answer IdempotencyRecord) error
	// DeleteIdempotencyRecords removes some of the answers that were kept before a time, and tells whether there may be more.
	DeleteIdempotencyRecords(before time.Time) (more bool, err error)

	// InsertKey adds a key under an id larger than any before; its ID is ignored.
	InsertKey(Key) (Key, error)
	// InsertSecret lets a secret open a key.
	InsertSecret(id int64, hash SecretHash) error
	// ExpireSecrets lets no secret of a key work any longer than until, and forgets those whose time has passed.
	ExpireSecrets(id int64, now, until time.Time) error
	// SetHint notes by what people recognise the newest secret of a key.
	SetHint(key Key, hint string) error
	// SetKeyLastUsed notes that a key was used, unless a later use is noted already. There may be no such key any more.
	SetKeyLastUsed(id int64, at time.Time) error
	// DeleteKey removes a key with its secrets.
	DeleteKey(Key) error

	// InsertSession adds a session under the hash of its token.
	InsertSession(token SecretHash, session Session) error
	// DeleteSession removes a session. There may be none.
	DeleteSession(token SecretHash) error
	// RemoveSessions removes some of the sessions whose time has passed, and tells whether there may be more.
	RemoveSessions(now time.Time) (more bool, err error)
}
