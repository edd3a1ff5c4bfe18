package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/shop"
)

// This file contains the queries that internal/sqlstore sends for the measured requests, in the same order.
// checkQueries verifies that the service sends the same queries.

const (
	serverMicros = "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)"
	petColumns   = "id, name, category_id, coalesce(status, '')"
	orderColumns = "id, pet_id, status, reference, created_at, updated_at, hold_expires_at"
)

// signCommit executes the last statement in every write transaction.
func signCommit(ctx context.Context, tx pgx.Tx) error {
	name := make([]byte, 16)
	rand.Read(name)
	_, err := tx.Exec(ctx, "INSERT INTO commits (id, at, done) VALUES ($1, "+serverMicros+", TRUE)", name)
	return err
}

// now returns the server's current time in microseconds.
func now(ctx context.Context, tx pgx.Tx) (micros int64, err error) {
	err = tx.QueryRow(ctx, "SELECT "+serverMicros).Scan(&micros)
	return micros, err
}

// rowsOf runs a query and returns the number of rows that it selects.
func rowsOf(ctx context.Context, tx pgx.Tx, query string, args ...any) (int64, error) {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	rows.Close()
	return rows.CommandTag().RowsAffected(), rows.Err()
}

// readPrelude sends the queries with which every read of animals begins. They look for expired holds.
func readPrelude(ctx context.Context, tx pgx.Tx) error {
	if _, err := now(ctx, tx); err != nil {
		return err
	}
	var hold *int64
	return tx.QueryRow(ctx, "SELECT min(hold_expires_at) FROM orders WHERE status = 'placed'").Scan(&hold)
}

var listFirst = operation{do: func(ctx context.Context, tx pgx.Tx, _ int64) error {
	return list(ctx, tx, "(status, id) <= ($1, 9223372036854775807)", shop.Available)
}}

var listRandom = operation{do: func(ctx context.Context, tx pgx.Tx, _ int64) error {
	return list(ctx, tx, "(status, id) < ($1, $2)", shop.Available, randomPosition(large))
}}

func list(ctx context.Context, tx pgx.Tx, upTo string, args ...any) error {
	if err := readPrelude(ctx, tx); err != nil {
		return err
	}
	rows, err := tx.Query(ctx, "SELECT "+petColumns+" FROM pets WHERE (status, id) >= ($1, -9223372036854775808) AND "+upTo+
		" ORDER BY status DESC, id DESC LIMIT 21", args...)
	if err != nil {
		return err
	}
	pets, err := pgx.CollectRows(rows, pgx.RowToStructByPos[shop.Pet])
	if err == nil && len(pets) != 21 {
		err = fmt.Errorf("the list has %d animals, want 21", len(pets))
	}
	return err
}

var getOne = operation{do: func(ctx context.Context, tx pgx.Tx, _ int64) error { return get(ctx, tx, small/2) }}

var getAny = operation{do: func(ctx context.Context, tx pgx.Tx, _ int64) error { return get(ctx, tx, anyID()) }}

func get(ctx context.Context, tx pgx.Tx, id int64) error {
	if err := readPrelude(ctx, tx); err != nil {
		return err
	}
	_, err := pet(ctx, tx, id)
	return err
}

func pet(ctx context.Context, tx pgx.Tx, id int64) (p shop.Pet, err error) {
	err = tx.QueryRow(ctx, "SELECT "+petColumns+" FROM pets WHERE id = $1", id).Scan(&p.ID, &p.Name, &p.CategoryID, &p.Status)
	return p, err
}

var create = operation{writes: true, do: func(ctx context.Context, tx pgx.Tx, n int64) error {
	return insertPet(ctx, tx, shop.NewPet{Name: fmt.Sprintf("Newcomer %05d", n%10_000), CategoryID: 7, Status: shop.Available})
}}

var createConcurrently = operation{writes: true, do: func(ctx context.Context, tx pgx.Tx, n int64) error {
	return insertPet(ctx, tx, shop.NewPet{Name: fmt.Sprintf("Beside %05d", n%10_000), CategoryID: categories - n%10, Status: shop.Available})
}}

func insertPet(ctx context.Context, tx pgx.Tx, n shop.NewPet) error {
	if _, err := ensureCategory(ctx, tx, n.CategoryID); err != nil {
		return err
	}
	var p shop.Pet
	err := tx.QueryRow(ctx, "INSERT INTO pets (name, name_folded, category_id, status) VALUES ($1, $2, $3, $4) RETURNING "+petColumns,
		n.Name, shop.Fold(n.Name), n.CategoryID, n.Status).Scan(&p.ID, &p.Name, &p.CategoryID, &p.Status)
	if err != nil {
		return err
	}
	if err := count(ctx, tx, p.Status, +1); err != nil {
		return err
	}
	return insertEvent(ctx, tx, shop.PetCreated, subjectOf(p), eventData(p, "null"))
}

// ensureCategory creates a category if it does not exist and reports whether it was created.
func ensureCategory(ctx context.Context, tx pgx.Tx, id int64) (created bool, err error) {
	err = tx.QueryRow(ctx, "INSERT INTO categories (id) VALUES ($1) ON CONFLICT (id) DO NOTHING RETURNING id", id).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func count(ctx context.Context, tx pgx.Tx, status shop.Status, change int) error {
	_, err := tx.Exec(ctx, "INSERT INTO inventory_changes (n, status) VALUES ($1, $2)", change, status)
	return err
}

func insertEvent(ctx context.Context, tx pgx.Tx, what shop.EventType, subject, data string) error {
	_, err := tx.Exec(ctx, "INSERT INTO event_inbox (at, type, subject, actor, data) VALUES ("+serverMicros+", $1, $2, $3, $4)",
		what, subject, "configured", data)
	return err
}

func subjectOf(p shop.Pet) string { return fmt.Sprintf("pets/%d", p.ID) }

// eventData returns the data for an event about an animal, which consists of the current and the previous
// state.
func eventData(p shop.Pet, before string) string {
	return `{"current":` + string(p.AppendJSON(nil)) + `,"previous":` + before + `}`
}

// placeOrder orders the next available animal.
var placeOrder = operation{writes: true, do: func(ctx context.Context, tx pgx.Tx, n int64) error {
	if int(n) >= available(large) {
		return errors.New("no available animals are left")
	}
	id := availableID(int(n))
	if _, err := now(ctx, tx); err != nil {
		return err
	}
	open, err := rowsOf(ctx, tx, "SELECT "+orderColumns+" FROM orders WHERE pet_id = $1 AND status IN ('placed', 'approved')", id)
	if err != nil {
		return err
	}
	if open > 0 {
		return fmt.Errorf("animal %d has an open order", id)
	}
	if _, err := pet(ctx, tx, id); err != nil {
		return err
	}
	if err := insertOrder(ctx, tx, id); err != nil {
		return err
	}
	before, err := pet(ctx, tx, id)
	if err != nil {
		return err
	}
	after := before
	after.Status = shop.Pending
	return updatePet(ctx, tx, before, after)
}}

func insertOrder(ctx context.Context, tx pgx.Tx, petID int64) error {
	micros, err := now(ctx, tx)
	if err != nil {
		return err
	}
	at := time.UnixMicro(micros).UTC()
	order := shop.Order{PetID: petID, Status: shop.Placed, CreatedAt: at, UpdatedAt: at, HoldExpiresAt: at.Add(shop.DefaultOrderHold)}
	err = tx.QueryRow(ctx, "INSERT INTO orders (pet_id, status, reference, created_at, updated_at, hold_expires_at) "+
		"VALUES ($1, $2, $3, $4, $5, $6) RETURNING "+orderColumns, petID, order.Status, nil, micros, micros, order.HoldExpiresAt.UnixMicro(),
	).Scan(&order.ID, nil, nil, nil, nil, nil, nil)
	if err != nil {
		return err
	}
	data, err := json.Marshal(map[string]any{"current": order, "previous": nil})
	if err != nil {
		return err
	}
	return insertEvent(ctx, tx, shop.OrderPlaced, fmt.Sprintf("store/orders/%d", order.ID), string(data))
}

func updatePet(ctx context.Context, tx pgx.Tx, before, after shop.Pet) error {
	if err := count(ctx, tx, before.Status, -1); err != nil {
		return err
	}
	if err := count(ctx, tx, after.Status, +1); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "UPDATE pets SET name = $1, name_folded = $2, category_id = $3, status = $4 WHERE id = $5",
		after.Name, shop.Fold(after.Name), after.CategoryID, after.Status, after.ID); err != nil {
		return err
	}
	return insertEvent(ctx, tx, shop.PetUpdated, subjectOf(after), eventData(after, string(before.AppendJSON(nil))))
}
