package sqlstore

import (
	"context"
	"errors"

	"animalstore/internal/shop"
)

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
		err = s.Write(ctx, touch)
	}
	return err
}

// touch writes a row without changing it, to test whether the store can be written.
func touch(w shop.WriteTx) error {
	return w.(*tx).exec("UPDATE settings SET value = value WHERE name = 'environment'")
}

func (s *sqliteEngine) ready(ctx context.Context) error {
	return s.readOn(ctx, s.checker, func(t *tx) error {
		_, err := t.Environment()
		return err
	})
}

// ready checks that the server can be read, accepts writes and has lost no part of its history. If the server
// does not accept writes, a new epoch starts, because another server may have become the primary.
func (p *postgresEngine) ready(ctx context.Context) error {
	era := p.epoch.Load()
	err := p.read(ctx, func(t *tx) error {
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
