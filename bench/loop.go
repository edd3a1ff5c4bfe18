package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"animalstore/internal/shop"
)

// query does on a connection what the service does for one request.
type query func(ctx context.Context, pool *pgxpool.Pool) error

// loop sends the queries of a request again and again, without HTTP.
type loop struct {
	pool *pgxpool.Pool
	do   query
}

func (l loop) stop() error {
	l.pool.Close()
	return nil
}

func (l loop) load(ctx context.Context, connections int, duration time.Duration) (sample, error) {
	limit, cancel := context.WithTimeout(ctx, duration+patience)
	defer cancel()
	began := time.Now()
	took := make([][]time.Duration, connections)
	failed := make([]error, connections)
	var workers sync.WaitGroup
	for i := range connections {
		workers.Go(func() {
			for begin := time.Now(); begin.Sub(began) < duration; begin = time.Now() {
				if failed[i] = l.do(limit, l.pool); failed[i] != nil {
					return
				}
				took[i] = append(took[i], time.Since(begin))
			}
		})
	}
	workers.Wait()
	whole := time.Since(began)
	if err := errors.Join(failed...); err != nil {
		return sample{}, err
	}
	all := slices.Concat(took...)
	slices.Sort(all)
	return sample{perSecond: float64(len(all)) / whole.Seconds(), p50: all[len(all)/2], p99: all[len(all)*99/100]}, nil
}

// What follows are the queries of internal/sqlstore for these requests, in their order and in their transactions. It must be
// kept in step with pet.go, order.go, event.go, dialect.go and postgres.go there.

const serverMicros = "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)"

func listLoop(ctx context.Context, pool *pgxpool.Pool) error {
	return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		var now int64
		if err := tx.QueryRow(ctx, "SELECT "+serverMicros).Scan(&now); err != nil {
			return err
		}
		due, err := tx.Query(ctx, "SELECT id, pet_id, status, reference, created_at, updated_at, hold_expires_at FROM orders "+
			"WHERE status = 'placed' AND hold_expires_at <= $1 ORDER BY hold_expires_at LIMIT 100", now)
		if err != nil {
			return err
		}
		due.Close()
		rows, err := tx.Query(ctx, "SELECT id, name, category_id, status FROM pets "+
			"WHERE (status, id) >= ($1, -9223372036854775808) AND (status, id) <= ($1, 9223372036854775807) "+
			"ORDER BY status DESC, id DESC LIMIT $2", "available", 21)
		if err != nil {
			return err
		}
		pets, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct {
			ID         int64
			Name       string
			CategoryID int64
			Status     *string
		}])
		if err == nil && len(pets) != 21 {
			err = fmt.Errorf("the list has %d animals in place of 21", len(pets))
		}
		return err
	})
}

// createLoop runs again where it got in the way of another, as the service does.
func createLoop(ctx context.Context, pool *pgxpool.Pool) error {
	for {
		err := pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.Serializable}, func(tx pgx.Tx) error { return createPet(ctx, tx) })
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != "40001" && refused.Code != "40P01" {
			return err
		}
	}
}

func createPet(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, "INSERT INTO categories (id) VALUES ($1) ON CONFLICT (id) DO NOTHING RETURNING id", 7); err != nil {
		return err
	}
	name := fmt.Sprintf("Newcomer %05d", rand.IntN(10_000))
	var id int64
	err := tx.QueryRow(ctx, "INSERT INTO pets (name, name_folded, category_id, status) VALUES ($1, $2, $3, $4) RETURNING id, name, category_id, status",
		name, shop.Fold(name), 7, "available").Scan(&id, nil, nil, nil)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "INSERT INTO inventory_changes (n, status) VALUES ($1, $2)", 1, "available"); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "INSERT INTO event_inbox (type, subject, actor, data, at) VALUES ($1, $2, $3, $4, "+serverMicros+")",
		"pet.created", fmt.Sprintf("pets/%d", id), "configured",
		fmt.Sprintf(`{"current":{"id":%d,"name":%q,"categoryId":7,"status":"available"},"previous":null}`, id, name))
	if err != nil {
		return err
	}
	mark := make([]byte, 16)
	for i := range mark {
		mark[i] = byte(rand.Uint32())
	}
	_, err = tx.Exec(ctx, "INSERT INTO commits (id, at, done) VALUES ($1, "+serverMicros+", TRUE)", mark)
	return err
}
