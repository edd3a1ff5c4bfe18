package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"animalstore/internal/programtest"
)

// cache keeps filled stores between benchmark runs, because filling a store takes longer than measuring it.
type cache struct{ dir string }

// openCache opens the cache folder for the current schema and removes the folders for all other schemas.
func openCache(root string) (cache, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		user = os.TempDir()
	}
	sum := sha256.New()
	for _, part := range []string{"internal/sqlstore/migrations/sqlite", "internal/shoptest/fill.go", "bench/fill.go", "bench/pocketbase/main.go", "bench/pocketbase/go.mod"} {
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
	parent, name := filepath.Join(user, "animalstore-bench"), hex.EncodeToString(sum.Sum(nil)[:6])
	if err := removeOthers(parent, name); err != nil {
		return cache{}, err
	}
	dir := filepath.Join(parent, name)
	return cache{dir}, os.MkdirAll(dir, 0o700)
}

// removeOthers removes outdated stores, which take up hundreds of megabytes.
func removeOthers(parent, name string) error {
	folders, err := filepath.Glob(filepath.Join(parent, "*"))
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if filepath.Base(folder) != name {
			err = errors.Join(err, os.RemoveAll(folder))
		}
	}
	return err
}

// folder returns the path of a folder in the cache. If the folder does not exist, folder calls make to fill it. If an
// earlier call of make did not finish, the folder is filled again from the beginning.
func (c cache) folder(name string, make func(dir string) error) (string, error) {
	dir := filepath.Join(c.dir, name)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	fmt.Fprintf(os.Stderr, "bench: filling %s (only once)\n", dir)
	unfinished := dir + ".unfinished" // this folder may be left over from a run that was killed
	if err := errors.Join(os.RemoveAll(unfinished), os.Mkdir(unfinished, 0o700)); err != nil {
		return "", err
	}
	if err := make(unfinished); err != nil {
		return "", errors.Join(err, os.RemoveAll(unfinished))
	}
	return dir, os.Rename(unfinished, dir)
}

const databaseName = "animalstore.db"

// store returns the path of a folder that contains a store with the given number of animals.
func (c cache) store(ctx context.Context, animals int) (string, error) {
	return c.folder(fmt.Sprintf("indexed-animals-%d", animals), func(dir string) error {
		return fill(ctx, filepath.Join(dir, databaseName), animals)
	})
}

// storeOf is like store, but the store was written by the given binary of the service.
func (b *bench) storeOf(ctx context.Context, program string, animals int) (string, error) {
	if program != previousProgram {
		return b.cache.store(ctx, animals)
	}
	return b.cache.folder(fmt.Sprintf("%s-animals-%d", programtest.PreviousVersion, animals), func(dir string) error {
		e := engine{program: program, start: func(ctx context.Context, dir string, _ int) (*process, string, error) {
			return b.startOn(ctx, program, dir, filepath.Join(dir, databaseName))
		}}
		_, err := b.importFile(ctx, e, dir, animals)
		return err
	})
}

// copyFolder copies a folder and syncs the copy to disk. If the data were written to disk later, this would disturb
// the measurement.
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
