package sqlstore

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"animalstore/internal/shop"
)

// Ready returns an unavailable error while the store cannot be read or written, with a message for operators.
//
// After a failed write it writes too: only that shows whether the disk has space again.
func (s *Store) Ready(ctx context.Context) error {
	err := s.engine.ready(ctx)
	if err == nil && s.failing.Load() {
		err = s.Write(ctx, touch)
	}
	if err == nil {
		return nil
	}
	return shop.NotReadyError(readyMessages[classify(err)], err)
}

// touch writes a row without changing it.
func touch(w shop.WriteTx) error {
	return w.(*tx).exec("UPDATE settings SET value = value WHERE name = 'environment'")
}

func (s *sqliteEngine) ready(ctx context.Context) error {
	return s.read(ctx, func(t *tx) error {
		_, err := t.Environment()
		return err
	})
}

// ready also checks that the server accepts writes. If it does not, a new epoch starts, because another
// server may be the primary by now.
func (p *postgresEngine) ready(ctx context.Context) error {
	era := p.epoch.Load()
	err := p.read(ctx, func(t *tx) error {
		refuses, _, err := one(t, scanValue[bool], "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on'")
		if err == nil && refuses {
			err = shop.UnavailableError(errReadOnly)
		}
		return err
	})
	if errors.Is(err, errReadOnly) {
		p.startEpoch(ctx, era)
	}
	return err
}

func (s *sqliteEngine) collectors() []prometheus.Collector { return nil }

func (p *postgresEngine) collectors() []prometheus.Collector {
	return []prometheus.Collector{poolCollector{p}}
}
