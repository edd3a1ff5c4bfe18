package main

import (
	"context"
	"database/sql"
	"debug/buildinfo"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	_ "modernc.org/sqlite"
)

// versions returns the versions of all software that affects the figures.
func (b *bench) versions(ctx context.Context) []string {
	found := []string{"Go " + strings.TrimPrefix(runtime.Version(), "go")}
	for _, name := range []string{"wrk", "nginx"} {
		if version := versionOf(ctx, name); version != "" {
			found = append(found, name+" "+version)
		}
	}
	if version := sqliteVersion(ctx); version != "" {
		found = append(found, "SQLite "+version)
	}
	if b.postgresVersion != "" {
		found = append(found, "PostgreSQL "+b.postgresVersion)
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "github.com/jackc/pgx/v5" {
				found = append(found, "pgx "+module.Version)
			}
		}
	}
	return append(found, b.peerVersions()...)
}

// versionOf returns the version that a program prints with -v. It ignores errors because wrk prints its
// version but then fails.
func versionOf(ctx context.Context, program string) string {
	output, _ := exec.CommandContext(ctx, program, "-v").CombinedOutput()
	return regexp.MustCompile(`\d+\.\d+(\.\d+)*`).FindString(string(output))
}

// sqliteVersion returns the version of SQLite in this program. The service has the same version because both
// require the same version of the module.
func sqliteVersion(ctx context.Context) (version string) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return ""
	}
	defer db.Close()
	db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version)
	return version
}

// peerVersions returns the versions of PocketBase and its SQLite module, which it reads from PocketBase's
// binary.
func (b *bench) peerVersions() []string {
	info, err := buildinfo.ReadFile(b.program("pocketbase"))
	if err != nil {
		return nil
	}
	var found []string
	for _, module := range info.Deps {
		switch module.Path {
		case "github.com/pocketbase/pocketbase":
			found = append(found, "PocketBase "+module.Version)
		case "modernc.org/sqlite":
			found = append(found, "with its own "+module.Path+" "+module.Version)
		}
	}
	return found
}
