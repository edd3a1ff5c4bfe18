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
// Both return what the closure returned; unavailable where the database cannot be asked right now; and any other error
// for a fault of ours.
type Store interface {
	Read(ctx context.Context, fn func(ReadTx) error) error
	Write(ctx context.Context, fn func(WriteTx) error) error
}

// ReadTx reads one consistent state of the shop. Its calls take no context of their own: a transaction may be shared
// with others, and a caller that goes away must not end it for them.
type ReadTx interface {
	// Environment returns what SetEnvironment wrote, or "".
	Environment() (Environment, error)

	// Pet returns one animal and whether there is one.
	Pet(id int64) (Pet, bool, error)
	// Pets returns at most list.Limit animals, in descending order of their ids.
	Pets(list PetList) ([]Pet, error)
	// HasPets tells whether there is any animal.
	HasPets() (bool, error)

	// Key returns one key and whether there is one.
	Key(id int64) (Key, bool, error)
	// Keys returns at most list.Limit keys, in descending order of their ids.
	Keys(list KeyList) ([]Key, error)
	// Credential returns the key that a secret opens and whether there is one, also where its time has passed.
	Credential(hash SecretHash) (Credential, bool, error)
	// CountAdmins returns how many keys have the scope admin and have not expired.
	CountAdmins(now time.Time) (int, error)
}

// WriteTx reads and changes the shop, alone.
type WriteTx interface {
	ReadTx

	SetEnvironment(Environment) error

	// InsertPet adds an animal of an existing category under an id larger than any before.
	InsertPet(NewPet) (Pet, error)
	// EnsureCategory brings a category into being where there is none with this id.
	EnsureCategory(id int64) error

	// InsertKey adds a key under an id larger than any before; its ID is ignored.
	InsertKey(Key) (Key, error)
	// InsertSecret lets a secret open a key.
	InsertSecret(id int64, hash SecretHash) error
	// EndSecrets lets no secret of a key work any longer than until, and forgets those whose time has passed.
	EndSecrets(id int64, now, until time.Time) error
	// SetHint notes by what people recognise the newest secret of a key.
	SetHint(id int64, hint string) error
	// TouchKey notes that a key was used, unless a later use is noted already. There may be no such key any more.
	TouchKey(id int64, at time.Time) error
	// DeleteKey removes a key with its secrets.
	DeleteKey(id int64) error
}

// read runs a closure that makes one value. The value of a run that failed is dropped with it.
func read[T any](ctx context.Context, s Store, fn func(ReadTx) (T, error)) (T, error) {
	var value T
	err := s.Read(ctx, func(tx ReadTx) (err error) {
		value, err = fn(tx)
		return err
	})
	if err != nil {
		return *new(T), err
	}
	return value, nil
}

// write is read for a closure that changes something.
func write[T any](ctx context.Context, s Store, fn func(WriteTx) (T, error)) (T, error) {
	var value T
	err := s.Write(ctx, func(tx WriteTx) (err error) {
		value, err = fn(tx)
		return err
	})
	if err != nil {
		return *new(T), err
	}
	return value, nil
}
