package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

// The stores that are measured: how many animals they have.
const (
	none       = 0
	small      = 100_000
	large      = 1_000_000
	categories = 20
)

// petOf is the animal with an id. Of ten, eight are available.
func petOf(id int64) shop.NewPet {
	status := shop.Available
	switch (id - 1) % 10 {
	case 8:
		status = shop.Pending
	case 9:
		status = shop.Sold
	}
	return shop.NewPet{Name: fmt.Sprintf("Animal %d", id), CategoryID: id%categories + 1, Status: status}
}

// available are how many of a store's animals are, and availableID is the id of one of these, counted from 0.
func available(animals int) int { return animals / 10 * 8 }

func availableID(n int) int64 { return int64(n/8*10 + n%8 + 1) }

// cache keeps filled stores between runs: to fill one takes longer than to measure it.
type cache struct{ dir string }

// openCache opens the folder for stores of this schema; another schema has another one.
func openCache(root string) (cache, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		user = os.TempDir()
	}
	sum := sha256.New()
	for _, part := range []string{"internal/sqlstore/migrations/sqlite", "bench/fill.go", "bench/pocketbase/main.go", "bench/pocketbase/go.mod"} {
		err := filepath.WalkDir(filepath.Join(root, part), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			sum.Write(text)
			return err
		})
		if err != nil {
			return cache{}, err
		}
	}
	dir := filepath.Join(user, "animalstore-bench", hex.EncodeToString(sum.Sum(nil)[:6]))
	return cache{dir}, os.MkdirAll(dir, 0o700)
}

// folder returns a folder of the cache, which make fills where there is none yet. One that was not filled to the end does
// not count.
func (c cache) folder(name string, make func(dir string) error) (string, error) {
	dir := filepath.Join(c.dir, name)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	fmt.Fprintf(os.Stderr, "bench: filling %s, once\n", dir)
	unfinished, err := os.MkdirTemp(c.dir, name+".unfinished-")
	if err != nil {
		return "", err
	}
	if err := make(unfinished); err != nil {
		return "", errors.Join(err, os.RemoveAll(unfinished))
	}
	return dir, os.Rename(unfinished, dir)
}

const databaseName = "animalstore.db"

// store returns the folder of a store with so many animals.
func (c cache) store(ctx context.Context, animals int) (string, error) {
	return c.folder(fmt.Sprintf("animals-%d", animals), func(dir string) error {
		return fill(ctx, filepath.Join(dir, databaseName), animals)
	})
}

// fill makes a store with so many animals. They are written as the service writes them, with their events and counts, but
// many in one transaction.
func fill(ctx context.Context, path string, animals int) (err error) {
	store, err := sqlstore.Open(ctx, path, sqlstore.Options{Exclusive: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if _, err := shop.Open(ctx, store, shop.Options{Environment: "production"}); err != nil {
		return err
	}
	const atOnce = 20_000
	for done := 0; done < animals; done += atOnce {
		err := store.Write(ctx, func(tx shop.WriteTx) error {
			for i := range min(atOnce, animals-done) {
				if err := insert(tx, petOf(int64(done+i+1))); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func insert(tx shop.WriteTx, n shop.NewPet) error {
	created, err := tx.EnsureCategory(n.CategoryID)
	if err == nil && created {
		err = enter(tx, shop.CategoryCreated, fmt.Sprintf("categories/%d", n.CategoryID), shop.Category{ID: n.CategoryID})
	}
	if err != nil {
		return err
	}
	pet, err := tx.InsertPet(n)
	if err != nil {
		return err
	}
	return enter(tx, shop.PetCreated, fmt.Sprintf("pets/%d", pet.ID), pet)
}

func enter(tx shop.WriteTx, what shop.EventType, subject string, current any) error {
	data, err := json.Marshal(map[string]any{"current": current, "previous": nil})
	if err != nil {
		return err
	}
	return tx.InsertEvent(shop.NewEvent{Type: what, Subject: subject, Actor: "system", Data: data})
}

// copyFolder copies the files of a folder, to the disk: what the system would write later would slow down what is measured.
func copyFolder(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		return copyFile(path, target)
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}
