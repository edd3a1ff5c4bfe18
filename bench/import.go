package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite"

	"animalstore/internal/shop"
)

// bareInserts is the name of the import baseline in the results table.
const bareInserts = "bare SQLite loop"

// minImportRatio is the required speed of an import relative to a loop that inserts the same rows in one
// transaction.
const minImportRatio = 0.5

// importKey identifies the import results of one subject on one engine.
type importKey struct{ prefix, subject string }

// importResult is the result of one import of a million animals.
type importResult struct {
	took   time.Duration
	memory int64 // the service's resident memory after the import, in bytes
}

// imports is the name of the import case, without the engine's prefix.
const imports = "import"

// measureImports imports the same animals twice: with the import command, which uses HTTP, and with the engine's
// baseline.
func (b *bench) measureImports(ctx context.Context, e engine) error {
	if !b.wants(e.prefix + imports) {
		return nil
	}
	b.progress(e.prefix + imports)
	byCommand := func(ctx context.Context, dir string) (importResult, error) { return b.importFile(ctx, e, dir, large) }
	byBaseline := func(ctx context.Context, dir string) (importResult, error) {
		took, err := e.insert(ctx, dir, large)
		return importResult{took: took}, err
	}
	err := b.measureImport(ctx, e, service, byCommand)
	if _, isMissing := b.missing[e.baseline]; !isMissing {
		err = errors.Join(err, b.measureImport(ctx, e, e.baseline, byBaseline))
	}
	return err
}

func (b *bench) measureImport(ctx context.Context, e engine, subject string, measure func(context.Context, string) (importResult, error)) error {
	dir, err := os.MkdirTemp(b.work, "import-")
	if err != nil {
		return err
	}
	err = e.clear(ctx)
	var result importResult
	if err == nil {
		result, err = measure(ctx, dir)
	}
	err = errors.Join(err, os.RemoveAll(dir))
	if ctx.Err() != nil {
		return ctx.Err()
	} else if err != nil {
		b.results.fail(e.prefix+imports, subject, err)
		return nil
	}
	b.progress("  %-32s %10.0f animals/s", subject, large/result.took.Seconds())
	by := importKey{e.prefix, subject}
	b.importResults[by] = append(b.importResults[by], result)
	return nil
}

// importFile writes animals to a CSV file and measures how long the import command takes to import them.
func (b *bench) importFile(ctx context.Context, e engine, dir string, animals int) (result importResult, err error) {
	file := filepath.Join(dir, "pets.csv")
	if err := writeCSV(file, animals); err != nil {
		return importResult{}, err
	}
	p, base, err := e.start(ctx, dir, none)
	if err != nil {
		return importResult{}, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if _, _, err := p.waitFor(base+"/readyz", ""); err != nil {
		return importResult{}, err
	}
	key := "ANIMALSTORE_KEY=" + strings.TrimPrefix(serviceKey, "Bearer ")
	began := time.Now()
	if err := run(ctx, dir, "env", key, b.program(e.program), "import", "--url", base+"/v1", file); err != nil {
		return importResult{}, err
	}
	result.took = time.Since(began)
	result.memory, err = p.resident()
	return result, err
}

func writeCSV(path string, animals int) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	text := bufio.NewWriter(file)
	fmt.Fprintln(text, "name,categoryId,status")
	for id := range int64(animals) {
		pet := newPet(id + 1)
		fmt.Fprintf(text, "%s,%d,%s\n", pet.Name, pet.CategoryID, pet.Status)
	}
	return text.Flush()
}

// insertAll inserts animals and their events in one transaction into a new store with the service's schema.
// It returns the time that this transaction took.
func insertAll(ctx context.Context, dir string, animals int) (took time.Duration, err error) {
	path := filepath.Join(dir, "loop.db")
	if err := fill(ctx, path, none); err != nil {
		return 0, err
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(full)&_pragma=foreign_keys(1)")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	began := time.Now()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() // Rollback has no effect after a commit
	for id := range categories {
		if _, err := tx.ExecContext(ctx, "INSERT INTO categories (id) VALUES (?)", id+1); err != nil {
			return 0, err
		}
	}
	pets, err := tx.PrepareContext(ctx, "INSERT INTO pets (name, name_folded, category_id, status) VALUES (?, ?, ?, ?)")
	if err != nil {
		return 0, err
	}
	events, err := tx.PrepareContext(ctx, "INSERT INTO events (type, subject, actor, data, at) VALUES (?, ?, ?, ?, ?)")
	if err != nil {
		return 0, err
	}
	for id := range int64(animals) {
		n := newPet(id + 1)
		pet := shop.Pet{ID: id + 1, Name: n.Name, CategoryID: n.CategoryID, Status: n.Status}
		if _, err := pets.ExecContext(ctx, n.Name, shop.Fold(n.Name), n.CategoryID, n.Status); err != nil {
			return 0, err
		}
		if _, err := events.ExecContext(ctx, shop.PetCreated, subjectOf(pet), "configured", eventData(pet, "null"), time.Now().UnixMicro()); err != nil {
			return 0, err
		}
	}
	if err := tx.Commit(); err != nil {
		return 0, err
	}
	return time.Since(began), nil
}

func subjectOf(p shop.Pet) string { return fmt.Sprintf("pets/%d", p.ID) }

// eventData returns the data for an event about an animal. The data consists of the current and the previous state of
// the animal.
func eventData(p shop.Pet, before string) string {
	return `{"current":` + string(p.AppendJSON(nil)) + `,"previous":` + before + `}`
}

// importTable returns the results table for imports. Its figures are medians. Only SQLite has a threshold.
func importTable(results map[importKey][]importResult) string {
	var b strings.Builder
	b.WriteString("| Import of a million animals | Time | Animals/s | Memory afterwards | animalstore ÷ subject | Target | Met |\n")
	b.WriteString("|---|--:|--:|--:|--:|---|---|\n")
	for _, by := range []importKey{{"", bareInserts}, {inPostgres, previous}} {
		command, loop := results[importKey{by.prefix, service}], results[by]
		if len(command) == 0 {
			continue
		}
		took := func(i importResult) time.Duration { return i.took }
		seconds := medianOf(command, took).Seconds()
		memory := megabytes(medianOf(command, func(i importResult) int64 { return i.memory }))
		fmt.Fprintf(&b, "| %sanimalstore import | %.1f s | %.0f | %s | | | |\n", by.prefix, seconds, large/seconds, memory)
		if len(loop) == 0 {
			continue
		}
		loopSeconds := medianOf(loop, took).Seconds()
		wanted, reached := "", ""
		if by.prefix == "" {
			wanted, reached = fmt.Sprintf("≥ %.2f", minImportRatio), yesNo(loopSeconds/seconds >= minImportRatio)
		}
		fmt.Fprintf(&b, "| %s%s | %.1f s | %.0f | | %.2f | %s | %s |\n", by.prefix, by.subject, loopSeconds, large/loopSeconds, loopSeconds/seconds, wanted, reached)
	}
	return b.String()
}
