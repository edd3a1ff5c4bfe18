package storetest

import (
	"os"
	"path/filepath"
	"sync"
)

// EmptyFile returns a function that creates a SQLite file with create and returns the file's content. Later
// calls of the function return the same content, because creating the tables takes longer than most tests.
func EmptyFile(create func(path string) error) func() ([]byte, error) {
	return sync.OnceValues(func() ([]byte, error) {
		dir, err := os.MkdirTemp("", "animalstore-test-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "empty.db")
		if err := create(path); err != nil {
			return nil, err
		}
		return os.ReadFile(path)
	})
}
