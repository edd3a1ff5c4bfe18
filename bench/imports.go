package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"animalstore/internal/sqlstore"
)

// chunk is how many animals one import brings: as many as it may.
const chunk = 10_000

// importTrial brings a million animals into an empty store.
func (b *bench) importTrial() trial {
	return trial{"import of a million animals", []int{1}, []contestant{
		{subject: service, start: func(ctx context.Context, dir string) (target, error) {
			p, base, err := b.startService(ctx, dir, none)
			if err != nil {
				return nil, err
			}
			t := &importer{process: p, base: base}
			if _, _, err := p.waitFor(base+"/readyz", ""); err != nil {
				return nil, closing(t, err)
			}
			return t, nil
		}},
		{subject: sqliteLoop, start: func(ctx context.Context, dir string) (target, error) {
			return insertLoop{filepath.Join(dir, "loop.db")}, nil
		}},
	}, []bar{atLeast(0.5, sqliteLoop)}}
}

// importer sends all animals to the service, one chunk after the other.
type importer struct {
	process *process
	base    string
}

func (t *importer) stop() error { return t.process.stop() }

func (t *importer) load(ctx context.Context, _ int, _ time.Duration) (sample, error) {
	var bodies [][]byte
	for first := 1; first <= large; first += chunk {
		var body bytes.Buffer
		for id := first; id < first+chunk; id++ {
			n := petOf(int64(id))
			fmt.Fprintf(&body, `{"name":%q,"categoryId":%d,"status":%q}`+"\n", n.Name, n.CategoryID, n.Status)
		}
		bodies = append(bodies, body.Bytes())
	}
	var took []time.Duration
	began := time.Now()
	for _, body := range bodies {
		start := time.Now()
		if err := t.send(ctx, body); err != nil {
			return sample{}, err
		}
		took = append(took, time.Since(start))
	}
	return pace(began, took), nil
}

func (t *importer) send(ctx context.Context, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, "POST", t.base+"/v1/imports", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", serviceKey)
	request.Header.Set("Content-Type", "application/x-ndjson")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	var answer struct{ Created int }
	if err := json.Unmarshal(text, &answer); err != nil || answer.Created != chunk {
		return fmt.Errorf("an import got %s: %s", response.Status, text)
	}
	return nil
}

// insertLoop writes the same rows into the same tables, one prepared insert after the other, in one transaction.
type insertLoop struct{ path string }

func (l insertLoop) stop() error { return nil }

func (l insertLoop) load(ctx context.Context, _ int, _ time.Duration) (_ sample, err error) {
	store, err := sqlstore.Open(ctx, l.path, sqlstore.Options{}) // it makes the tables
	if err != nil {
		return sample{}, err
	}
	if err := store.Close(); err != nil {
		return sample{}, err
	}
	db, err := sql.Open("sqlite", "file:"+l.path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)")
	if err != nil {
		return sample{}, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for id := range categories {
		if _, err := db.ExecContext(ctx, "INSERT INTO categories (id) VALUES (?)", id+1); err != nil {
			return sample{}, err
		}
	}
	began := time.Now()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return sample{}, err
	}
	defer tx.Rollback()
	took, err := insertAll(ctx, tx)
	if err != nil {
		return sample{}, err
	}
	if err := tx.Commit(); err != nil {
		return sample{}, err
	}
	return pace(began, took), nil
}

func insertAll(ctx context.Context, tx *sql.Tx) (took []time.Duration, err error) {
	pets, err := tx.PrepareContext(ctx, "INSERT INTO pets (name, name_folded, category_id, status) VALUES (?, ?, ?, ?)")
	if err != nil {
		return nil, err
	}
	events, err := tx.PrepareContext(ctx, "INSERT INTO events (at, type, subject, actor, data) VALUES (?, 'pet.created', ?, 'configured', ?)")
	if err != nil {
		return nil, err
	}
	for first := 1; first <= large; first += chunk {
		start := time.Now()
		for id := first; id < first+chunk; id++ {
			n := petOf(int64(id))
			if _, err := pets.ExecContext(ctx, n.Name, n.Name, n.CategoryID, string(n.Status)); err != nil {
				return nil, err
			}
			data := fmt.Sprintf(`{"current":{"id":%d,"name":%q,"categoryId":%d,"status":%q},"previous":null}`, id, n.Name, n.CategoryID, n.Status)
			if _, err := events.ExecContext(ctx, start.UnixMicro(), fmt.Sprintf("pets/%d", id), data); err != nil {
				return nil, err
			}
		}
		took = append(took, time.Since(start))
	}
	_, err = tx.ExecContext(ctx, "UPDATE inventory SET n = (SELECT count(*) FROM pets WHERE pets.status = inventory.status)")
	return took, err
}

// pace is how many animals came in each second, and how long a chunk took.
func pace(began time.Time, took []time.Duration) sample {
	seconds := time.Since(began).Seconds()
	slices.Sort(took)
	return sample{perSecond: float64(len(took)*chunk) / seconds, p50: took[len(took)/2], p99: took[len(took)*99/100]}
}
