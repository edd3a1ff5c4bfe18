//go:build unix

package doctor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"animalstore/internal/sqlstore"
)

const (
	groupAndOthers fs.FileMode = 0o077
	others         fs.FileMode = 0o007
)

// checkPermissions looks for files with secrets or data that other users of the machine can read, and for files that
// this user cannot write.
func (x *examiner) checkPermissions() {
	sound := true
	check := func(path string, forbidden fs.FileMode) {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm()&forbidden == 0 {
			return // missing files are reported by the checks of the database and the settings
		}
		sound = false
		x.problem("permissions", "Run chmod go-rwx "+path+", and give it to the service's user.", "%s has the mode %04o, so other users can use it", path, info.Mode().Perm())
	}
	if x.Database != "" && !sqlstore.IsURL(x.Database) {
		for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
			check(x.Database+suffix, groupAndOthers)
		}
		for _, path := range []string{x.Database, filepath.Dir(x.Database)} {
			if err := checkWritable(path); err != nil {
				sound = false
				x.problem("permissions", "Give it to the service's user, or run this command as that user.", "this user cannot write: %v", err)
			}
		}
	}
	if x.BackupFolder != nil {
		files, _ := x.BackupFolder.Files() // the error is reported by checkBackups
		for _, file := range files {
			check(file.Path, groupAndOthers)
		}
	}
	if x.APIKeyFile != "" {
		check(x.APIKeyFile, groupAndOthers)
	}
	if x.TLSKey != "" {
		// The group may read the private key, because some systems have a group for certificates.
		check(x.TLSKey, others)
	}
	if sound {
		x.ok("permissions", "no other user can use the files")
	}
}

// checkWritable returns an error if this user may not write to an existing file or folder. It writes nothing.
func checkWritable(path string) error {
	err := unix.Access(path, unix.W_OK)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return &os.PathError{Op: "access", Path: path, Err: err}
}
