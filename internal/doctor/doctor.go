// Package doctor examines the things that a service depends on: its disk, clock, database, certificate, files, limits
// and backups. It only reads, so it may run while the service is running.
package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"animalstore/internal/backup"
	"animalstore/internal/sqlstore"
)

// Status says how serious a finding is.
type Status string

// The values of Status.
const (
	OK      Status = "ok"
	Warning Status = "warning" // the service works now, but may fail later or in some cases
	Problem Status = "problem" // the service does not work, or data or secrets are in danger
)

// Finding is the result of one check.
type Finding struct {
	Check   string `json:"check"`
	Status  Status `json:"status"`
	Message string `json:"message"`
	Action  string `json:"action,omitempty"` // what to do; empty if Status is OK
}

// Config says what to examine.
type Config struct {
	Database       string         // the database's address; empty if it is invalid
	BackupFolder   *backup.Folder // nil if there are no scheduled backups
	BackupInterval time.Duration
	TLSCert        string // empty if there is no certificate
	TLSKey         string
	ACME           bool // whether the service itself obtains TLSCert from an authority
	APIKeyFile     string
	PublicHost     string // the host name that clients use, or empty
	MaxConnections int
}

// examiner runs the checks and reports their findings.
type examiner struct {
	Config
	report func(Finding)
	now    time.Time
}

// Examine runs all checks and calls report for each finding.
func Examine(ctx context.Context, config Config, report func(Finding)) {
	oneLine := func(f Finding) {
		f.Message = strings.Join(strings.Fields(f.Message), " ") // an error from pgx may have several lines
		report(f)
	}
	x := &examiner{config, oneLine, time.Now()}
	switch {
	case config.Database == "":
	case sqlstore.IsURL(config.Database):
		x.checkServer(ctx)
	default:
		x.checkDisk()
		x.checkFile(ctx)
	}
	if config.Database != "" {
		x.checkBackups()
	}
	x.checkCertificate()
	x.checkPermissions()
	x.checkOpenFiles()
	x.checkMemory()
}

func (x *examiner) ok(check, format string, args ...any) {
	x.report(Finding{Check: check, Status: OK, Message: fmt.Sprintf(format, args...)})
}

func (x *examiner) warn(check, action, format string, args ...any) {
	x.report(Finding{Check: check, Status: Warning, Message: fmt.Sprintf(format, args...), Action: action})
}

func (x *examiner) problem(check, action, format string, args ...any) {
	x.report(Finding{Check: check, Status: Problem, Message: fmt.Sprintf(format, args...), Action: action})
}
