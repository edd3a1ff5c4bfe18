package sqlstore

import (
	"context"
	"sync/atomic"
	"time"

	"animalstore/internal/shop"
)

// localCatalog counts the changes to a SQLite file. If only this process writes to the file, the version of the
// catalogue is therefore known without a query.
type localCatalog struct {
	exclusive bool         // whether no other process may change the catalogue
	changes   atomic.Int64 // the number of changes to the catalogue or to orders
	orders    atomic.Int64 // the number of changes to orders
	hold      atomic.Pointer[cachedHold]
}

// cachedHold is the time when the next hold expires. It is valid as long as no order changes.
type cachedHold struct {
	next   time.Time
	orders int64
	readAt time.Time
}

// maxHoldAge is how long a cachedHold is used. It limits the effect if another program has changed the file.
const maxHoldAge = time.Second

// bump changes the version after a transaction, before the write returns. It does this even after an error,
// because the transaction may have been committed anyway.
func (c *localCatalog) bump(changes effects) {
	if changes.orders {
		c.orders.Add(1)
	}
	if changes.catalog || changes.orders {
		c.changes.Add(1)
	}
}

func (c *localCatalog) version() shop.CatalogVersion {
	if !c.exclusive {
		return shop.CatalogVersion{}
	}
	return shop.CatalogVersion{Changes: c.changes.Load() + 1}
}

// nextHold returns the time when the next hold expires. orders is the value that c.orders had before the transaction
// began.
func (c *localCatalog) nextHold(t *tx, orders int64) (time.Time, error) {
	cached := c.hold.Load()
	if c.exclusive && cached != nil && cached.orders == orders && time.Since(cached.readAt) < maxHoldAge {
		return cached.next, nil
	}
	readAt := time.Now()
	next, err := t.NextHold()
	if err == nil {
		c.hold.Store(&cachedHold{next, orders, readAt})
	}
	return next, err
}

// readState returns a function that is like fn, but also sets state to the state of the catalogue. It must be called
// before the snapshot is taken, because it loads the version. A change in between then makes the version outdated, but
// never wrong.
func (s *sqliteEngine) readState(state *shop.CatalogState, versioned bool, fn func(*tx) error) func(*tx) error {
	orders := s.catalog.orders.Load()
	var version shop.CatalogVersion
	if versioned {
		version = s.catalog.version()
	}
	return func(t *tx) error {
		if err := fn(t); err != nil {
			return err
		}
		next, err := s.catalog.nextHold(t, orders)
		if err != nil {
			return err
		}
		now, err := t.Now()
		*state = shop.CatalogState{Version: version, Time: now, NextHold: next}
		return err
	}
}

func (s *sqliteEngine) currentVersion(context.Context, shop.CatalogVersion) (shop.CatalogVersion, time.Time) {
	version := s.catalog.version()
	now, _ := s.dialect.now(nil) // this is the clock of this process, and it cannot fail
	return version, now
}
