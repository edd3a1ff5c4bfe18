package sqlstore

import (
	"context"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/engine"
)

// readyMessages are the messages that /readyz shows. They contain no names or addresses, because /readyz can
// be read without an API key.
var readyMessages = map[engine.Kind]string{
	engine.ReadOnly:       "The database can be read, but not written: a failover may be in progress, or an operator has made it read-only.",
	engine.DiskFull:       "The database cannot be written: its disk is full.",
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

// Ready returns an unavailable error if the store cannot be read or written. The error has a message for operators.
//
// If the last write failed, Ready tries to write as well, because only a write can show that the disk has space
// again. Ready returns when ctx ends, even if its write is still running.
func (s *Store) Ready(ctx context.Context) error {
	checked := make(chan error, 1)
	s.checks.Go(func() { checked <- s.check(ctx) })
	var err error
	select {
	case err = <-checked:
	case <-ctx.Done():
		err = engine.EndedError(ctx.Err())
	}
	if err == nil {
		return nil
	}
	return shop.NotReadyError(readyMessages[engine.KindOf(err)], shopError(err))
}

func (s *Store) check(ctx context.Context) error {
	err := s.engine.Ready(ctx)
	if err == nil && s.failing.Load() {
		err = s.Write(ctx, shop.Writing{}, touch)
	}
	return err
}

// touch writes a row without changing it, to test whether the store can be written.
func touch(w shop.WriteTx) error {
	return w.(*tx).Exec("UPDATE settings SET value = value WHERE name = 'environment'")
}
