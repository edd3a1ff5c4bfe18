package sqlstore

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

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
	return shop.NotReady(readyMessages[classify(err)], err)
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

// ready also asks the server whether it would take a write. Where it would not, another one may be it by now: the
// connections to this one are not used again.
func (p *postgresEngine) ready(ctx context.Context) error {
	era := p.era.Load()
	err := p.read(ctx, func(t *tx) error {
		refuses, _, err := one(t, scanValue[bool], "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on'")
		if err == nil && refuses {
			err = shop.UnavailableError(errReadOnly)
		}
		return err
	})
	if errors.Is(err, errReadOnly) {
		p.lose(ctx, era)
	}
	return err
}

func (s *sqliteEngine) collectors() []prometheus.Collector { return nil }

// collectors are those of the pool of connections, as database/sql counts them.
func (p *postgresEngine) collectors() []prometheus.Collector {
	return []prometheus.Collector{collectors.NewDBStatsCollector(p.db, "animalstore")}
}
