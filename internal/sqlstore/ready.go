package sqlstore

import (
	"context"
	"errors"

	"animalstore/internal/shop"
)

// readyMessages are the messages that /readyz shows. They contain no names or addresses, because /readyz can
// be read without an API key.
var readyMessages = map[errorKind]string{
	readOnly:       "The database can be read, but not written: a failover may be in progress, or an operator has made it read-only.",
	diskFull:       "The database cannot be written: its disk is full.",
	ioFailed:       "The disk or the files of the database failed; the log has the error.",
	corrupt:        "The database is damaged; restore a backup.",
	replaced:       "The database file was removed or replaced while it was open; put it back, or restart the service.",
	busy:           "The database is busy, or accepts no more connections.",
	conflict:       "The database is busy: concurrent writes conflict.",
	unreachable:    "The database cannot be reached.",
	unsuitable:     "The database server cannot be used with its current settings; the log has the error.",
	lostHistory:    "The database server has lost a part of its history or belongs to another cluster, so it is not used; the log has the error.",
	timedOut:       "The database takes too long to respond.",
	unknownOutcome: "The connection to the database broke during a write.",
	otherError:     "The database refused a statement; the log has the error.",
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
		err = endedError(ctx.Err())
	}
	if err == nil {
		return nil
	}
	return shop.NotReadyError(readyMessages[classify(err)], err)
}

func (s *Store) check(ctx context.Context) error {
	err := s.engine.ready(ctx)
	if err == nil && s.failing.Load() {
		err = s.Write(ctx, shop.Writing{}, touch)
	}
	return err
}

// touch writes a row without changing it, to test whether the store can be written.
func touch(w shop.WriteTx) error {
	return w.(*tx).exec("UPDATE settings SET value = value WHERE name = 'environment'")
}

func (s *sqliteEngine) ready(ctx context.Context) error {
	return s.readOn(ctx, s.checker, 0, func(t *tx) error {
		_, err := t.Environment()
		return err
	})
}

// ready checks that the server can be read, accepts writes and has lost no part of its history. If the server
// does not accept writes, a new epoch starts, because another server may have become the primary.
func (p *postgresEngine) ready(ctx context.Context) error {
	era := p.epoch.Load()
	err := p.read(ctx, shop.Reading{}, func(t *tx) error {
		refuses, _, err := one(t, scanValue[bool], "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on'")
		if err == nil && refuses {
			err = shop.UnavailableError(errReadOnly)
		}
		if err != nil {
			return err
		}
		if err := p.checkRecordedTimeline(t.ctx, t.runner); err != nil {
			return t.fail(err)
		}
		return nil
	})
	if errors.Is(err, errReadOnly) {
		p.startEpoch(ctx, era)
	}
	return err
}
