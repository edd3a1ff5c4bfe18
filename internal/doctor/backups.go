package doctor

import (
	"path/filepath"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

// reportNoBackups warns that the service makes no backups.
func (x *examiner) reportNoBackups() {
	if sqlstore.IsURL(x.Database) {
		x.warn("backups", "Make sure that pg_dump or continuous archiving runs, and that somebody has tried to restore.",
			"the service does not back up a PostgreSQL server, and this command cannot see who does")
		return
	}
	x.warn("backups", "Set --backup-dir to a folder on another disk, unless something else runs animalstore backup.", "there are no scheduled backups")
}

// checkBackupDisk compares the free space with the size of the next backup.
func (x *examiner) checkBackupDisk() {
	folder := x.BackupFolder.Path()
	file, _ := databaseSize(x.Database)
	free, err := freeSpace(folder)
	switch {
	case err != nil:
		x.problem("backups", "Create the folder, or mount its disk.", "the backup folder cannot be read: %v", err)
	case free < uint64(file):
		x.problem("backups", "Free or add disk space, or lower --backup-keep.", "%s has %s free, but the next backup needs up to %s",
			folder, shop.FormatBytes(free), shop.FormatBytes(file))
	case sameDisk(folder, filepath.Dir(x.Database)):
		x.warn("backups", "Use a folder on another disk, or copy the backups to another machine.",
			"%s is on the disk of the database, so both can be lost together", folder)
	default:
		x.ok("backups", "%s has %s free", folder, shop.FormatBytes(free))
	}
}

// checkBackups checks that the newest backup is recent and that the disk has space for the next one.
func (x *examiner) checkBackups() {
	if x.BackupFolder == nil {
		x.reportNoBackups()
		return
	}
	x.checkBackupDisk()
	files, err := x.BackupFolder.Files()
	if err != nil {
		return // checkBackupDisk has already reported this error
	}
	if len(files) == 0 {
		x.problem("backups", "Start the service, which makes a backup at once, and look for \"backup failed\" in its log.",
			"%s has no backup", x.BackupFolder.Path())
		return
	}
	age := x.now.Sub(files[0].Time).Round(time.Second)
	if age > 2*x.BackupInterval {
		x.problem("backups", "Look for \"backup failed\" in the log of the service, or start the service.",
			"the newest of %d backups is %s old, and one is due every %s", len(files), age, x.BackupInterval)
		return
	}
	x.ok("backups", "the newest of %d backups is %s old", len(files), age)
}
