package doctor

import (
	"os"
	"path/filepath"

	"animalstore/internal/shop"
)

// minFree is the free space below which writes are about to fail.
const minFree = 64 << 20

// databaseSize returns the sizes of the database file and of its WAL. The size of a missing file is 0.
func databaseSize(path string) (file, wal int64) {
	if info, err := os.Stat(path); err == nil {
		file = info.Size()
	}
	if info, err := os.Stat(path + "-wal"); err == nil {
		wal = info.Size()
	}
	return file, wal
}

// checkDisk compares the free space with the size of the database file.
func (x *examiner) checkDisk() {
	folder := filepath.Dir(x.Database)
	file, wal := databaseSize(x.Database)
	used := uint64(file + wal)
	free, err := freeSpace(folder)
	if err != nil {
		x.warn("disk", "Check that the folder exists and that this user may enter it.", "the free space in %s is unknown: %v", folder, err)
		return
	}
	const action = "Free or add disk space; when the disk is full, writes are refused."
	switch {
	case free < minFree || free < used/10:
		x.problem("disk", action, "%s has %s free, and the database has %s", folder, shop.FormatBytes(free), shop.FormatBytes(used))
	case free < used:
		x.warn("disk", action, "%s has %s free, less than the %s of the database, so a restore would not fit", folder, shop.FormatBytes(free), shop.FormatBytes(used))
	default:
		x.ok("disk", "%s has %s free; the database has %s", folder, shop.FormatBytes(free), shop.FormatBytes(used))
	}
}
