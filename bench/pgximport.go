package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/shop"
)

const (
	importPart = 5_000 // animals per request sent by the import command
	importRows = 500   // rows per INSERT statement
)

// checkPart is the transaction that validates one part of an import. It sends no queries because the service
// accepts unknown categories.
var checkPart = operation{do: func(context.Context, pgx.Tx, int64) error { return nil }}

// insertAll imports animals with the same queries as the service, in one transaction per part. All parts are
// validated before the first part is inserted.
func (p *postgres) insertAll(ctx context.Context, _ string, animals int) (took time.Duration, err error) {
	l, err := p.startLoop(ctx, none)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.stop()) }()
	began := time.Now()
	for range animals / importPart {
		if err := l.run(ctx, checkPart); err != nil {
			return 0, err
		}
	}
	for done := 0; done < animals; done += importPart {
		part := make([]shop.NewPet, importPart)
		for i := range part {
			part[i] = newPet(int64(done + i + 1))
		}
		key := fmt.Sprintf("part-%d", done)
		for _, e := range []operation{findStoredResponse(key), insertPart(key, part)} {
			if err := l.run(ctx, e); err != nil {
				return 0, err
			}
		}
	}
	return time.Since(began), nil
}

// findStoredResponse looks up the response that is stored for a part's idempotency key.
func findStoredResponse(key string) operation {
	return operation{do: func(ctx context.Context, tx pgx.Tx, _ int64) error {
		_, err := rowsOf(ctx, tx, "SELECT fingerprint, status, header, body, kept_at FROM kept_answers WHERE principal = $1 AND key = $2", 0, key)
		return err
	}}
}

func insertPart(key string, part []shop.NewPet) operation {
	return operation{writes: true, do: func(ctx context.Context, tx pgx.Tx, n int64) error {
		if err := findStoredResponse(key).do(ctx, tx, n); err != nil {
			return err
		}
		if err := ensureCategories(ctx, tx, part); err != nil {
			return err
		}
		pets, err := insertPets(ctx, tx, part)
		if err != nil {
			return err
		}
		err = insertRows(ctx, tx, "event_inbox (at, type, subject, actor, data)", "("+serverMicros+", $, $, $, $)", pets, func(p shop.Pet) []any {
			return []any{shop.PetCreated, subjectOf(p), "configured", eventData(p, "null")}
		})
		if err != nil {
			return err
		}
		fingerprint := sha256.Sum256([]byte(key))
		_, err = tx.Exec(ctx, "INSERT INTO kept_answers (principal, key, fingerprint, status, header, body, kept_at) VALUES ($1, $2, $3, $4, $5, $6, "+
			serverMicros+") ON CONFLICT (principal, key) DO UPDATE SET fingerprint = excluded.fingerprint, status = excluded.status, "+
			"header = excluded.header, body = excluded.body, kept_at = excluded.kept_at",
			0, key, fingerprint[:], 200, "{}", fmt.Appendf(nil, `{"created":%d}`, len(part)))
		return err
	}}
}

// ensureCategories creates the categories in a part that do not exist yet and then inserts an event for each
// of them.
func ensureCategories(ctx context.Context, tx pgx.Tx, part []shop.NewPet) error {
	var ids, created []int64
	for _, n := range part {
		ids = append(ids, n.CategoryID)
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		isNew, err := ensureCategory(ctx, tx, id)
		if err != nil {
			return err
		}
		if isNew {
			created = append(created, id)
		}
	}
	for _, id := range created {
		if err := insertEvent(ctx, tx, shop.CategoryCreated, fmt.Sprintf("categories/%d", id), fmt.Sprintf(`{"current":{"id":%d},"previous":null}`, id)); err != nil {
			return err
		}
	}
	return nil
}

func insertPets(ctx context.Context, tx pgx.Tx, part []shop.NewPet) ([]shop.Pet, error) {
	rows, err := tx.Query(ctx, "SELECT nextval('pets_id_seq') FROM generate_series(1, CAST($1 AS BIGINT))", len(part))
	if err != nil {
		return nil, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, err
	}
	counts := map[shop.Status]int{}
	pets := make([]shop.Pet, len(part))
	for i, n := range part {
		pets[i] = shop.Pet{ID: ids[i], Name: n.Name, CategoryID: n.CategoryID, Status: n.Status}
		counts[n.Status]++
	}
	err = insertRows(ctx, tx, "pets (id, name, name_folded, category_id, status)", "($, $, $, $, $)", pets, func(p shop.Pet) []any {
		return []any{p.ID, p.Name, shop.Fold(p.Name), p.CategoryID, p.Status}
	})
	if err != nil {
		return nil, err
	}
	for status, n := range counts {
		if err := count(ctx, tx, status, n); err != nil {
			return nil, err
		}
	}
	return pets, nil
}

// insertRows inserts one row for each animal, with many rows per statement. Each $ in row is replaced with a
// numbered placeholder.
func insertRows(ctx context.Context, tx pgx.Tx, into, row string, pets []shop.Pet, values func(shop.Pet) []any) error {
	var text strings.Builder
	text.WriteString("INSERT INTO " + into + " VALUES ")
	for i, part := range strings.Split(strings.Repeat(row+", ", importRows-1)+row, "$") {
		if i > 0 {
			fmt.Fprintf(&text, "$%d", i)
		}
		text.WriteString(part)
	}
	for some := range slices.Chunk(pets, importRows) {
		var args []any
		for _, p := range some {
			args = append(args, values(p)...)
		}
		if _, err := tx.Exec(ctx, text.String(), args...); err != nil {
			return err
		}
	}
	return nil
}
