package cli

import (
	"time"

	"animalstore/internal/backup"
	"animalstore/internal/server"
	"animalstore/internal/sqlstore"
)

// The defaults and limits for scheduled backups.
const (
	defaultBackupInterval = 24 * time.Hour
	minBackupInterval     = time.Minute
	defaultBackupKeep     = 7
)

// backupFlags holds the flags for scheduled backups. Every and Keep are nil if they are not set.
type backupFlags struct {
	Dir   string         `env:"ANIMALSTORE_BACKUP_DIR" placeholder:"DIR" help:"Folder for scheduled backups of a database file; it must exist (default: no backups)."`
	Every *time.Duration `env:"ANIMALSTORE_BACKUP_EVERY" placeholder:"DURATION" help:"Interval between scheduled backups (default 24h)."`
	Keep  *int           `env:"ANIMALSTORE_BACKUP_KEEP" placeholder:"N" help:"Number of scheduled backups to keep (default 7)."`
}

// backupSettings checks and parses the flags for scheduled backups.
func (s *serveCommand) backupSettings(parsed *settings) error {
	switch {
	case s.Backup.Dir == "" && s.Backup.Every != nil:
		return usagef("--backup-every: set --backup-dir, too, to the folder for the backups")
	case s.Backup.Dir == "" && s.Backup.Keep != nil:
		return usagef("--backup-keep: set --backup-dir, too, to the folder for the backups")
	case s.Backup.Dir == "":
		return nil
	case sqlstore.IsURL(s.Database):
		return usagef("--backup-dir: use the tools of PostgreSQL, such as pg_dump, to back up a server")
	}
	parsed.backupInterval, parsed.backupKeep = defaultBackupInterval, defaultBackupKeep
	if s.Backup.Every != nil {
		parsed.backupInterval = *s.Backup.Every
	}
	if s.Backup.Keep != nil {
		parsed.backupKeep = *s.Backup.Keep
	}
	if parsed.backupInterval < minBackupInterval {
		return usagef("--backup-every: %s is out of range; expected 1m or more", parsed.backupInterval)
	}
	if parsed.backupKeep < 1 {
		return usagef("--backup-keep: %d is out of range; expected 1 or more", parsed.backupKeep)
	}
	parsed.backupFolder = backup.NewFolder(s.Backup.Dir, s.Database)
	if err := parsed.backupFolder.Check(); err != nil {
		return usagef("--backup-dir: %w", err)
	}
	return nil
}

// newScheduler returns the scheduler for backups, or nil if no backups are scheduled. The folder for the backups is
// locked until unlock is called.
func (s *serveCommand) newScheduler(settings settings, log *server.BufferedLog) (scheduler *backup.Scheduler, unlock func() error, err error) {
	if settings.backupFolder == nil {
		return nil, func() error { return nil }, nil
	}
	if err := settings.backupFolder.CheckWritable(); err != nil {
		return nil, nil, usagef("--backup-dir: %w", err)
	}
	unlock, err = settings.backupFolder.Lock()
	if err != nil {
		return nil, nil, err
	}
	return backup.New(backup.Config{
		Database: s.Database,
		Folder:   settings.backupFolder,
		Interval: settings.backupInterval,
		Keep:     settings.backupKeep,
		Log:      log.Logger,
	}), unlock, nil
}
