package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

func TestServiceMakesBackupsThatCanBeRestored(t *testing.T) {
	newFolder(t, "ANIMALSTORE_API_KEY="+adminKey, "ANIMALSTORE_BACKUP_DIR=backups", "ANIMALSTORE_BACKUP_EVERY=90m", "ANIMALSTORE_BACKUP_KEEP=1")
	shoptest.OK(t, os.Mkdir("backups", 0o700))
	store := shoptest.Must(shoptest.OpenAt(t.Context(), "animalstore.db", shop.Options{}))(t)
	store.AddPet(t, "Rex", 1, shop.Available) // add an animal before the service makes its first backup
	shoptest.OK(t, store.Store.Close())
	first := serve(t)
	first.await("backup written")
	metrics := first.expect(200, "GET", "/metrics", adminKey, "")
	for _, want := range []string{"animalstore_backup_interval_seconds 5400\n", "animalstore_backup_failures_total 0\n", "animalstore_backup_last_findings 0\n"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("/metrics has no line %q", want)
		}
	}
	other := animalstore(t, "serve", "--addr", "127.0.0.1:0", "--database", "other.db")
	expectRefusal(t, other, 1, "the backup folder backups is in use by another animalstore")
	first.stop()
	names := shoptest.Must(filepath.Glob("backups/*.db"))(t)
	if len(names) != 1 || !regexp.MustCompile(`^backups/animalstore-\d{8}T\d{6}Z\.db$`).MatchString(names[0]) {
		t.Fatalf("backups: got %q, want one", names)
	}
	succeed(t, "restore", "--database", "new.db", names[0])
	second := serve(t, "--database", "new.db")
	if pets := second.expect(200, "GET", "/v1/pets", adminKey, ""); !strings.Contains(pets, `"name":"Rex"`) {
		t.Errorf("the restored store: got %s, want Rex", pets)
	}
	second.stop()
}

func TestInvalidBackupSettingsAreRefused(t *testing.T) {
	folder := newFolder(t)
	folder.Write("file", "")
	for args, words := range map[string]string{
		"--backup-every 1h":                                     "--backup-every: set --backup-dir",
		"--backup-keep 3":                                       "--backup-keep: set --backup-dir",
		"--backup-dir missing":                                  "--backup-dir: the folder missing does not exist; create it",
		"--backup-dir file":                                     "--backup-dir: file is not a folder",
		"--backup-dir /proc":                                    "--backup-dir: the folder /proc cannot be written",
		"--backup-dir . --backup-every 59s":                     "--backup-every: 59s is out of range; expected 1m or more",
		"--backup-dir . --backup-every daily":                   "--backup-every",
		"--backup-dir . --backup-keep 0":                        "--backup-keep: 0 is out of range; expected 1 or more",
		"--backup-dir . --database postgres://db.example/store": "--backup-dir: use the tools of PostgreSQL",
	} {
		expectRefusal(t, animalstore(t, append([]string{"serve"}, strings.Fields(args)...)...), exitUsage, words)
	}
	if names := folder.Names(); len(names) != 1 {
		t.Errorf("files: got %q, want only the one from before", names)
	}
}
