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

// bareInserts is the baseline of imports, as the table names it.
const bareInserts = "bare SQLite loop"

// leastImport is how fast an import is to be, beside a loop that inserts the same rows in one transaction.
const leastImport = 0.5

// intakeBy is who imports, and into which kind of database.
type intakeBy struct{ cases, subject string }

// intake is one import of a million animals.
type intake struct {
	took   time.Duration
	memory int64 // resident in the service, in bytes, after it
}

// imports is the name of the case, in every kind of database.
const imports = "import"

// measureImports imports the same animals with the command, which talks HTTP, and then with a loop that has nothing around it.
func (b *bench) measureImports(ctx context.Context, e engine) error {
	if !b.wants(e.cases + imports) {
		return nil
	}
	b.say(e.cases + imports)
	byCommand := func(ctx context.Context, dir string) (intake, error) { return b.importFile(ctx, e, dir, large) }
	byLoop := func(ctx context.Context, dir string) (intake, error) {
		took, err := e.insert(ctx, dir, large)
		return intake{took: took}, err
	}
	return errors.Join(b.measureImport(ctx, e, service, byCommand), b.measureImport(ctx, e, e.baseline, byLoop))
}

func (b *bench) measureImport(ctx context.Context, e engine, subject string, measure func(context.Context, string) (intake, error)) error {
	dir, err := os.MkdirTemp(b.work, "import-")
	if err != nil {
		return err
	}
	err = e.clear(ctx)
	var taken intake
	if err == nil {
		taken, err = measure(ctx, dir)
	}
	err = errors.Join(err, os.RemoveAll(dir))
	if ctx.Err() != nil {
		return ctx.Err()
	} else if err != nil {
		b.results.fail(e.cases+imports, subject, err)
		return nil
	}
	b.say("  %-32s %10.0f animals/s", subject, large/taken.took.Seconds())
	by := intakeBy{e.cases, subject}
	b.intakes[by] = append(b.intakes[by], taken)
	return nil
}

// importFile runs the command on a file, as people do.
func (b *bench) importFile(ctx context.Context, e engine, dir string, animals int) (taken intake, err error) {
	file := filepath.Join(dir, "pets.csv")
	if err := writeCSV(file, animals); err != nil {
		return intake{}, err
	}
	p, base, err := e.start(ctx, dir, none)
	if err != nil {
		return intake{}, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if _, _, err := p.waitFor(base+"/readyz", ""); err != nil {
		return intake{}, err
	}
	key := "ANIMALSTORE_KEY=" + strings.TrimPrefix(serviceKey, "Bearer ")
	began := time.Now()
	if err := run(ctx, dir, "env", key, b.program("animalstore"), "import", "--url", base+"/v1", file); err != nil {
		return intake{}, err
	}
	taken.took = time.Since(began)
	taken.memory, err = p.resident()
	return taken, err
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
		pet := petOf(id + 1)
		fmt.Fprintf(text, "%s,%d,%s\n", pet.Name, pet.CategoryID, pet.Status)
	}
	return text.Flush()
}

// insertAll inserts the rows of the animals and of their events, in a store that the service would open, in one transaction.
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
	defer tx.Rollback() // after a commit it does nothing
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
		n := petOf(id + 1)
		pet := shop.Pet{ID: id + 1, Name: n.Name, CategoryID: n.CategoryID, Status: n.Status}
		if _, err := pets.ExecContext(ctx, n.Name, shop.Fold(n.Name), n.CategoryID, n.Status); err != nil {
			return 0, err
		}
		if _, err := events.ExecContext(ctx, shop.PetCreated, subjectOf(pet), "configured", saying(pet, "null"), time.Now().UnixMicro()); err != nil {
			return 0, err
		}
	}
	if err := tx.Commit(); err != nil {
		return 0, err
	}
	return time.Since(began), nil
}

// importTable writes the medians of all imports. There is a bar for a file alone.
func importTable(intakes map[intakeBy][]intake) string {
	var b strings.Builder
	b.WriteString("| import of a million animals | took | animals a second | resident after it | animalstore ÷ it | to reach | reached |\n")
	b.WriteString("|---|--:|--:|--:|--:|---|---|\n")
	for _, by := range []intakeBy{{"", bareInserts}, {inPostgres, pgxLoop}} {
		command, loop := intakes[intakeBy{by.cases, service}], intakes[by]
		if len(command) == 0 {
			continue
		}
		took := func(i intake) time.Duration { return i.took }
		mine := medianOf(command, took).Seconds()
		memory := megabytes(medianOf(command, func(i intake) int64 { return i.memory }))
		fmt.Fprintf(&b, "| %sanimalstore import | %.1f s | %.0f | %s | | | |\n", by.cases, mine, large/mine, memory)
		if len(loop) == 0 {
			continue
		}
		its := medianOf(loop, took).Seconds()
		wanted, reached := "", ""
		if by.cases == "" {
			wanted, reached = fmt.Sprintf("≥ %.2f", leastImport), yesNo(its/mine >= leastImport)
		}
		fmt.Fprintf(&b, "| %s%s | %.1f s | %.0f | | %.2f | %s | %s |\n", by.cases, by.subject, its, large/its, its/mine, wanted, reached)
	}
	return b.String()
}
