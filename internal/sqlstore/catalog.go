package sqlstore

import (
	"context"
	"sync/atomic"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/engine"
)

// localCatalog counts the changes to a SQLite file. If only this process writes to the file, the version of the
// catalogue is therefore known without a query.
type localCatalog struct {
	exclusive bool         // whether no other process may change the catalogue
	changes   atomic.Int64 // the number of changes to the catalogue or to orders
	orders    atomic.Int64 // the number of changes to orders
	window    atomic.Int64 // the number of changes to what the shop window shows
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
func (c *localCatalog) bump(touched engine.Touched) {
	if touched&touchedOrders != 0 {
		c.orders.Add(1)
	}
	if touched&touchedWindow != 0 {
		c.window.Add(1)
	}
	if touched&(touchedCatalog|touchedOrders) != 0 {
		c.changes.Add(1)
	}
}

// version returns the version of the catalogue, or of what the shop window shows.
func (c *localCatalog) version(window bool) shop.CatalogVersion {
	switch {
	case !c.exclusive:
		return shop.CatalogVersion{}
	case window:
		return shop.CatalogVersion{Changes: c.window.Load() + 1, Window: true}
	}
	return shop.CatalogVersion{Changes: c.changes.Load() + 1}
}

// nextHold returns the time when the next hold expires, if it is known without a query. orders is the value of c.orders
// before the transaction begins.
func (c *localCatalog) nextHold(orders int64) (next time.Time, known bool) {
	cached := c.hold.Load()
	if !c.exclusive || cached == nil || cached.orders != orders || time.Since(cached.readAt) >= maxHoldAge {
		return time.Time{}, false
	}
	return cached.next, true
}

// catalogBefore is what is known about the catalogue before a snapshot is taken. A change in between makes the version
// outdated, but never wrong.
type catalogBefore struct {
	version shop.CatalogVersion
	orders  int64 // the number of changes to orders
	at      time.Time
	hold    time.Time // when the next hold expires, if known is set
	known   bool      // whether no query is needed for hold
}

// beforeRead returns what is known now, and makes the read o return the rest.
func (s *Store) beforeRead(o *engine.ReadOptions, r shop.Reading) (before catalogBefore) {
	before.orders, before.at, before.version = s.catalog.orders.Load(), time.Now(), s.catalog.version(r.Window)
	o.Stamped, o.Versioned = true, r.Version
	if before.hold, before.known = s.catalog.nextHold(before.orders); !before.known {
		o.Value = nextHold
	}
	return before
}

// catalogState returns the state of the catalogue in the snapshot with this stamp.
func (s *Store) catalogState(before catalogBefore, stamp engine.Stamp, versioned bool) (state shop.CatalogState) {
	if !before.known {
		before.hold = fromMicros(stamp.Value.V)
		s.catalog.hold.Store(&cachedHold{before.hold, before.orders, before.at})
	}
	if s.server != nil {
		before.version = shop.CatalogVersion{Changes: stamp.Version.SessionID, Snapshot: stamp.Version.Snapshot}
	}
	if versioned {
		state.Version = before.version
	}
	state.Time, state.NextHold = s.time(stamp.Time), before.hold
	return state
}

// CurrentVersion returns the current version of the catalogue and the time of the store's clock. The version is zero if
// it is not known, or if it probably differs from seen.
func (s *Store) CurrentVersion(ctx context.Context, seen shop.CatalogVersion) (shop.CatalogVersion, time.Time) {
	if s.server == nil {
		return s.catalog.version(seen.Window), s.dialect.clock()
	}
	version, now := s.server.Version(ctx, engine.Version{SessionID: seen.Changes, Snapshot: seen.Snapshot})
	return shop.CatalogVersion{Changes: version.SessionID, Snapshot: version.Snapshot}, s.time(now)
}

// time returns the time of the store's clock, which is that of the database unless the store has a clock of its own.
func (s *Store) time(database time.Time) time.Time {
	if s.dialect.clock != nil {
		return s.dialect.clock()
	}
	return database
}
