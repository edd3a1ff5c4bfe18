package sqlstore

import (
	"context"
	"errors"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/engine"
)

// readyMessages are the messages that /readyz shows. They contain no names or addresses, because /readyz can
// be read without an API key.
var readyMessages = map[engine.Kind]string{
	engine.ReadOnly:       "The database can be read, but not written: a failover may be in progress, or an operator has made it read-only.",
	engine.DiskFull:       "The database cannot be written: the disk is full.",
	engine.IOFailed:       "The disk or the files of the database failed; the log has the error.",
	engine.Corrupt:        "The database is damaged; restore a backup.",
	engine.Replaced:       "The database file was removed or replaced while it was open; put it back, or restart the service.",
	engine.Busy:           "The database is busy, or accepts no more connections.",
	engine.Conflict:       "The database is busy: concurrent writes conflict.",
	engine.Unreachable:    "The database cannot be reached.",
	engine.Unsuitable:     "The database server cannot be used with its current settings; the log has the error.",
	engine.LostHistory:    "The database server has lost a part of its history or belongs to another cluster, so it is not used; the log has the error.",
	engine.TimedOut:       "The database takes too long to respond.",
	engine.UnknownOutcome: "The connection to the database broke during a write.",
	engine.Other:          "The database refused a statement; the log has the error.",
}

// lasting are the kinds of errors that make all writes fail until somebody frees space or repairs something. Only these
// can make a node unready. Any other error, such as a timeout, may concern a single request.
var lasting = map[engine.Kind]bool{engine.ReadOnly: true, engine.DiskFull: true, engine.IOFailed: true, engine.Corrupt: true}

// writeFailure says that writes may fail.
type writeFailure struct {
	err    error     // why a write failed; nil if no write has failed, but none is known to work either
	probed time.Time // when a readiness check last tried to write
}

const (
	// probeInterval is the time after a readiness check has tried to write in which other checks use its result. Anybody
	// may ask whether a node is ready, and must not cause writes at will.
	probeInterval = 500 * time.Millisecond
	// probeTimeout is how long a readiness check waits until its write begins. A write that has begun is not interrupted. On
	// PostgreSQL, it may wait for locks and take as long as any other write.
	probeTimeout = time.Second
)

// Ready returns an unavailable error if the store cannot be read or written. The error has a message for operators.
//
// After a write has failed, Ready tries to write as well, until that works: only a write can show that the disk has space
// again. Ready returns when ctx ends, even if its write is still running.
func (s *Store) Ready(ctx context.Context) error {
	checked := make(chan error, 1)
	s.checks.Go(func() { checked <- s.check(ctx) })
	var err error
	select {
	case err = <-checked:
	case <-ctx.Done():
		err = engine.EndedError(ctx.Err())
		if known := s.failing.Load(); known != nil && known.err != nil {
			err = known.err
		}
	}
	if err == nil {
		return nil
	}
	return shop.NotReadyError(readyMessages[engine.KindOf(err)], shopError(err))
}

func (s *Store) check(ctx context.Context) error {
	if err := s.engine.Ready(ctx); err != nil || s.failing.Load() == nil {
		return err
	}
	select {
	case s.probing <- struct{}{}:
		defer func() { <-s.probing }()
	case <-ctx.Done(): // nobody waits for this check any more
		return engine.EndedError(ctx.Err())
	}
	known := s.failing.Load()
	if known == nil {
		return nil
	}
	if time.Since(known.probed) < probeInterval {
		return known.err
	}
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	err := s.engine.TryWrite(limited)
	s.metrics.countError(limited, shopError(err))
	if e, failed := errors.AsType[*engine.Error](err); !failed || e.Class == engine.Internal && !lasting[e.Kind] {
		// The write worked. Or the database rejected the statement, for example because a privilege is missing. Then only
		// the writes of clients can show whether writes work.
		s.failing.CompareAndSwap(known, nil)
		return nil
	}
	if !lasting[engine.KindOf(err)] {
		err = known.err // the write came too late or lost a race, which proves nothing
	}
	s.failing.CompareAndSwap(known, &writeFailure{err, time.Now()}) // a write of a client may have failed in the meantime
	return err
}

// rememberFailure makes the next readiness check try to write if err is a failure that may last.
//
// A write that works does not end this state. On a disk that is nearly full, small writes still work while others fail.
func (s *Store) rememberFailure(err error) {
	if err == nil || !lasting[engine.KindOf(err)] {
		return
	}
	if known := s.failing.Load(); known == nil || known.err == nil {
		s.failing.CompareAndSwap(known, &writeFailure{err: err})
	}
}
