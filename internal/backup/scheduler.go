package backup

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"animalstore/internal/storeadmin"
)

const (
	// checkInterval is how often the scheduler checks whether a backup is due. It looks at the clock and at the
	// folder each time, so it notices that the clock was set, that the machine was asleep, and that backups are
	// missing.
	checkInterval = time.Minute
	// retryDelay is how long the scheduler waits after a failed backup, unless the interval is shorter.
	retryDelay = 10 * time.Minute
)

// Config holds the settings for a Scheduler.
type Config struct {
	Database string // the path of the store's file, which may be in use
	Folder   *Folder
	Interval time.Duration
	Keep     int // the number of backups to keep
	Log      *slog.Logger
}

// Scheduler backs up a store at regular intervals.
type Scheduler struct {
	config   Config
	retryAt  time.Time // the time before which a failed backup is not tried again
	failures prometheus.Counter

	mu     sync.Mutex
	newest File          // the newest backup in the folder
	took   time.Duration // the duration of the last backup that this process has made
	found  int           // the number of problems found in the last backup that this process has made
}

// New returns a scheduler. Call Run to start it.
func New(config Config) *Scheduler {
	return &Scheduler{config: config, failures: newFailures()}
}

// Run backs up the store whenever the newest backup in the folder is older than the interval. It returns when the
// context ends. If a backup is in progress at that time, it is abandoned and its file is removed. The folder must be
// locked.
func (s *Scheduler) Run(ctx context.Context) {
	if err := s.config.Folder.removePartial(); err != nil {
		s.config.Log.Warn("cannot remove an incomplete backup", "error", err)
	}
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		s.runIfDue(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// runIfDue makes a backup if one is due. If the backup fails, the next attempt is due after a delay.
func (s *Scheduler) runIfDue(ctx context.Context) {
	now := time.Now()
	if now.Before(s.retryAt) || ctx.Err() != nil {
		return
	}
	files, err := s.config.Folder.Files()
	if err == nil {
		newest := newestUntil(files, now.Add(s.config.Interval))
		s.setNewest(newest)
		if now.Sub(newest.Time) < s.config.Interval {
			return
		}
		err = s.backUp(ctx, now)
	}
	if err != nil && ctx.Err() == nil {
		s.failures.Inc()
		delay := min(retryDelay, s.config.Interval)
		s.retryAt = now.Add(delay)
		s.config.Log.Error("backup failed", "error", err, "retry_in", delay)
	}
}

// newestUntil returns the newest backup whose time is before the given time, or the zero File if there is none. A
// backup with a later time was made while the clock was wrong, so its real age is unknown.
func newestUntil(files []File, end time.Time) File {
	for _, file := range files {
		if file.Time.Before(end) {
			return file
		}
	}
	return File{}
}

// backUp makes a backup and then removes the oldest backups.
func (s *Scheduler) backUp(ctx context.Context, now time.Time) error {
	log, file := s.config.Log, File{Path: s.config.Folder.fileName(now), Time: now}
	found, err := storeadmin.Backup(ctx, s.config.Database, file.Path, false, func(finding string) {
		log.Error("the store is inconsistent", "finding", finding)
	})
	if err != nil {
		return err
	}
	info, err := os.Stat(file.Path)
	if err != nil {
		return err
	}
	file.Size = info.Size()
	took := time.Since(now)
	s.mu.Lock()
	s.newest, s.took, s.found = file, took, found.All
	s.mu.Unlock()
	removed, err := s.config.Folder.prune(s.config.Keep, file.Path)
	if err != nil {
		log.Error("cannot remove an old backup", "error", err)
	}
	log.Info("backup written", "file", file.Path, "bytes", file.Size, "duration", took, "removed", removed)
	return nil
}

// Newest returns when the newest backup in the folder was started, or the zero time if there is none. If this process has
// made it, found is the number of problems in it.
func (s *Scheduler) Newest() (at time.Time, found int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newest.Time, s.found
}

func (s *Scheduler) setNewest(file File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newest = file
}
