package sqlstore

import (
	"errors"
	"os"

	"animalstore/internal/shop"
)

// file is the database's file as it was when it was opened. SQLite goes on with a file that somebody has removed, and
// what is written into it is lost with the process; a new connection would even open whatever has taken its place.
type file struct {
	path string
	info os.FileInfo
}

func watchFile(path string) (*file, error) {
	info, err := os.Stat(path)
	return &file{path, info}, err
}

var errOtherFile = errors.New("the database's file was removed or replaced while it was open; put it back, or start again")

// check returns unavailable where the file is no longer the one that was opened.
func (f *file) check() error {
	if info, err := os.Stat(f.path); err != nil || !os.SameFile(info, f.info) {
		return shop.UnavailableError(errOtherFile)
	}
	return nil
}
