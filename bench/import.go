package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
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

// intake is one import of a million animals.
type intake struct {
	took   time.Duration
	memory int64 // resident in the service, in bytes, after it
}

// measureImports imports the same animals with the command, over HTTP, and with a loop without anything around it.
func (b *bench) measureImports(ctx context.Context) error {
	if !strings.Contains("import", b.only) {
		return nil
	}
	b.say("import")
	for subject, measure := range map[string]func(context.Context, string) (intake, error){service: b.importFile, bareInserts: insertAll} {
		dir, err := os.MkdirTemp(b.work, "import-")
		if err != nil {
			return err
		}
		taken, err := measure(ctx, dir)
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			b.results.fail("import", subject, err)
			continue
		}
		b.say("  %-32s %10.0f animals/s", subject, large/taken.took.Seconds())
		b.intakes[subject] = append(b.intakes[subject], taken)
	}
	return nil
}

// importFile runs the command on a file, as people do.
func (b *bench) importFile(ctx context.Context, dir string) (taken intake, err error) {
	file := filepath.Join(dir, "pets.csv")
	if err := writeCSV(file, large); err != nil {
		return intake{}, err
	}
	p, base, err := b.startService(ctx, dir, none)
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
func insertAll(ctx context.Context, dir string) (taken intake, err error) {
	path := filepath.Join(dir, "loop.db")
	if err := fill(ctx, path, none); err != nil {
		return intake{}, err
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(full)&_pragma=foreign_keys(1)")
	if err != nil {
		return intake{}, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	began := time.Now()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return intake{}, err
	}
	defer tx.Rollback() // after a commit it does nothing
	for id := range categories {
		if _, err := tx.ExecContext(ctx, "INSERT INTO categories (id) VALUES (?)", id+1); err != nil {
			return intake{}, err
		}
	}
	pets, err := tx.PrepareContext(ctx, "INSERT INTO pets (name, name_folded, category_id, status) VALUES (?, ?, ?, ?)")
	if err != nil {
		return intake{}, err
	}
	events, err := tx.PrepareContext(ctx, "INSERT INTO events (type, subject, actor, data, at) VALUES (?, ?, ?, ?, ?)")
	if err != nil {
		return intake{}, err
	}
	for id := range int64(large) {
		n := petOf(id + 1)
		data, err := json.Marshal(map[string]any{"current": shop.Pet{ID: id + 1, Name: n.Name, CategoryID: n.CategoryID, Status: n.Status}, "previous": nil})
		if err != nil {
			return intake{}, err
		}
		if _, err := pets.ExecContext(ctx, n.Name, shop.Fold(n.Name), n.CategoryID, n.Status); err != nil {
			return intake{}, err
		}
		if _, err := events.ExecContext(ctx, shop.PetCreated, fmt.Sprintf("pets/%d", id+1), "configured", string(data), time.Now().UnixMicro()); err != nil {
			return intake{}, err
		}
	}
	if err := tx.Commit(); err != nil {
		return intake{}, err
	}
	return intake{took: time.Since(began)}, nil
}

// importTable writes the medians of all imports.
func importTable(intakes map[string][]intake) string {
	took := func(subject string) time.Duration {
		return medianOf(intakes[subject], func(i intake) time.Duration { return i.took })
	}
	if len(intakes[service]) == 0 || len(intakes[bareInserts]) == 0 {
		return ""
	}
	ratio := took(bareInserts).Seconds() / took(service).Seconds()
	memory := megabytes(medianOf(intakes[service], func(i intake) int64 { return i.memory }))
	var b strings.Builder
	b.WriteString("| import of a million animals | took | animals a second | resident after it | animalstore ÷ it | to reach | reached |\n")
	b.WriteString("|---|--:|--:|--:|--:|---|---|\n")
	fmt.Fprintf(&b, "| animalstore import | %.1f s | %.0f | %s | | | |\n", took(service).Seconds(), large/took(service).Seconds(), memory)
	fmt.Fprintf(&b, "| %s | %.1f s | %.0f | | %.2f | ≥ %.2f | %s |\n", bareInserts, took(bareInserts).Seconds(), large/took(bareInserts).Seconds(), ratio, leastImport, yesNo(ratio >= leastImport))
	return b.String()
}
