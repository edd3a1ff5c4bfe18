package backup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/internal/shoptest"
	"animalstore/internal/storeadmin"
)

// A backup is made when the newest one is as old as the interval, even after a restart.
func TestBackupIsMadeWhenTheNewestIsOldEnough(t *testing.T) {
	t.Parallel()
	b := newBackups(t)
	synctest.Test(t, func(t *testing.T) {
		s, stop := b.start(t, time.Hour, 5)
		b.expect(backupAt("2000-01-01T00:00"))
		wait(59 * time.Minute)
		b.expect(backupAt("2000-01-01T00:00"))
		wait(time.Minute)
		b.expect(backupAt("2000-01-01T00:00"), backupAt("2000-01-01T01:00"))
		if got, want := metric(t, s, "last_success_timestamp_seconds"), float64(time.Now().Unix()); got != want {
			t.Errorf("time of the last success: got %f, want %f", got, want)
		}
		stop()
		wait(30 * time.Minute)
		s, stop = b.start(t, time.Hour, 5)
		b.expect(backupAt("2000-01-01T00:00"), backupAt("2000-01-01T01:00"))
		if got, want := metric(t, s, "last_success_timestamp_seconds"), float64(time.Now().Add(-30*time.Minute).Unix()); got != want {
			t.Errorf("time of the last success after a restart: got %f, want %f", got, want)
		}
		wait(30 * time.Minute)
		b.expect(backupAt("2000-01-01T00:00"), backupAt("2000-01-01T01:00"), backupAt("2000-01-01T02:00"))
		stop()
	})
}

// A backup contains the whole store, and only the owner of the file can read it.
func TestBackupIsWholeAndPrivate(t *testing.T) {
	t.Parallel()
	b := newBackups(t)
	synctest.Test(t, func(t *testing.T) {
		s, stop := b.start(t, time.Hour, 1)
		defer stop()
		path := filepath.Join(b.dir, backupAt("2000-01-01T00:00"))
		found, err := storeadmin.Check(t.Context(), path, func(finding string) { t.Error(finding) })
		info := shoptest.Must(os.Stat(path))(t)
		if err != nil || found.All > 0 || info.Mode() != 0o600 {
			t.Errorf("backup: got %+v, %v and the mode %v, want no findings and 0600", found, err, info.Mode())
		}
		if got := metric(t, s, "last_size_bytes"); got != float64(info.Size()) {
			t.Errorf("size: got %f, want %d", got, info.Size())
		}
	})
}

// Only the oldest backups are removed. Files that the scheduler did not write are kept.
func TestOnlyTheOldestBackupsAreRemoved(t *testing.T) {
	t.Parallel()
	b := newBackups(t)
	others := []string{"shop-2000-01-01.db", "shop-19990101T000000Z.db.gz", "my-shop-19990101T000000Z.db", "shopping-19990101T000000Z.db",
		"shop-19991301T000000Z.db", "shop.db", "shop-19990101T000000Z.db-wal"}
	for _, name := range others {
		b.write(name)
	}
	shoptest.OK(t, os.Mkdir(filepath.Join(b.dir, backupAt("1999-01-01T00:00")), 0o700))
	others = append(others, backupAt("1999-01-01T00:00"))
	synctest.Test(t, func(t *testing.T) {
		_, stop := b.start(t, time.Hour, 2)
		defer stop()
		wait(time.Hour)
		b.expect(append(others, backupAt("2000-01-01T00:00"), backupAt("2000-01-01T01:00"))...)
		wait(time.Hour)
		b.expect(append(others, backupAt("2000-01-01T01:00"), backupAt("2000-01-01T02:00"))...)
	})
}

// A failed backup removes nothing and leaves nothing behind. The failure is counted, and the backup is tried again
// after ten minutes.
func TestFailedBackupIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := newBackups(t)
	b.write(backupAt("1999-12-01T00:00"))
	synctest.Test(t, func(t *testing.T) {
		away := b.database + ".away"
		shoptest.OK(t, os.Rename(b.database, away))
		s, stop := b.start(t, 24*time.Hour, 1)
		defer stop()
		wait(9 * time.Minute)
		b.expect(backupAt("1999-12-01T00:00"))
		if got := metric(t, s, "failures_total"); got != 1 || strings.Count(b.log.String(), "backup failed") != 1 {
			t.Errorf("failures: got %f, want 1, and one line in the log:\n%s", got, b.log)
		}
		shoptest.OK(t, os.Rename(away, b.database))
		wait(time.Minute)
		b.expect(backupAt("2000-01-01T00:10"))
	})
}

// A damaged store is not backed up, so the intact backups are kept.
func TestDamagedStoreReplacesNoBackup(t *testing.T) {
	t.Parallel()
	b := newBackups(t)
	b.write(backupAt("1999-12-01T00:00"))
	content := shoptest.Must(os.ReadFile(b.database))(t)
	shoptest.OK(t, os.WriteFile(b.database, append(content[:8192], make([]byte, len(content)-8192)...), 0o600))
	synctest.Test(t, func(t *testing.T) {
		s, stop := b.start(t, time.Hour, 1)
		defer stop()
		b.expect(backupAt("1999-12-01T00:00"))
		if got := metric(t, s, "failures_total"); got != 1 {
			t.Errorf("failures: got %f, want 1", got)
		}
	})
}

// Backups from the future were made while the clock was wrong. They do not delay the next backup. The next backup is
// not removed, although it seems to be the oldest.
func TestBackupsFromTheFutureDelayNothing(t *testing.T) {
	t.Parallel()
	b := newBackups(t)
	b.write(backupAt("2033-01-01T00:00"))
	b.write(backupAt("2033-01-02T00:00"))
	synctest.Test(t, func(t *testing.T) {
		_, stop := b.start(t, time.Hour, 2)
		defer stop()
		b.expect(backupAt("2000-01-01T00:00"), backupAt("2033-01-02T00:00"))
		wait(59 * time.Minute)
		b.expect(backupAt("2000-01-01T00:00"), backupAt("2033-01-02T00:00"))
		wait(time.Minute)
		b.expect(backupAt("2000-01-01T01:00"), backupAt("2033-01-02T00:00"))
	})
}

// The scheduler notices within a minute that somebody has removed the backups.
func TestMissingBackupIsMadeAgain(t *testing.T) {
	t.Parallel()
	b := newBackups(t)
	synctest.Test(t, func(t *testing.T) {
		_, stop := b.start(t, time.Hour, 2)
		defer stop()
		shoptest.OK(t, os.Remove(filepath.Join(b.dir, backupAt("2000-01-01T00:00"))))
		wait(time.Minute)
		b.expect(backupAt("2000-01-01T00:01"))
	})
}

// Incomplete backups that a killed process has left behind are removed.
func TestIncompleteBackupsAreRemoved(t *testing.T) {
	t.Parallel()
	b := newBackups(t)
	partial := "." + backupAt("1999-12-31T23:00") + ".123.partial"
	b.write(partial)
	b.write(partial + "-journal")
	b.write(".other-19991231T230000Z.db.123.partial")
	synctest.Test(t, func(t *testing.T) {
		_, stop := b.start(t, time.Hour, 2)
		defer stop()
		b.expect(backupAt("2000-01-01T00:00"), ".other-19991231T230000Z.db.123.partial")
	})
}

// Two processes never use the same folder.
func TestFolderIsLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	unlock := shoptest.Must(NewFolder(dir, "shop.db").Lock())(t)
	if _, err := NewFolder(dir, "other.db").Lock(); err == nil || !strings.Contains(err.Error(), "is in use by another animalstore") {
		t.Errorf("second lock: got %v, want an error", err)
	}
	shoptest.OK(t, unlock())
	unlock = shoptest.Must(NewFolder(dir, "shop.db").Lock())(t)
	shoptest.OK(t, unlock())
}
