package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"animalstore/internal/backup"
	"animalstore/internal/leaktest"
	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// newStore creates a store file with one animal and returns the configuration for examining it.
func newStore(t *testing.T) Config {
	t.Helper()
	config := Config{Database: filepath.Join(t.TempDir(), "shop.db"), MaxConnections: 10}
	s := shoptest.Must(shoptest.OpenAt(t.Context(), config.Database, shop.Options{}))(t)
	s.AddPet(t, "Rex", 1, shop.Available)
	shoptest.OK(t, s.Store.Close())
	return config
}

// examine returns the findings that are not OK, such as "problem disk: …".
func examine(t *testing.T, config Config) (found []string) {
	t.Helper()
	Examine(t.Context(), config, func(f Finding) {
		if (f.Action == "") != (f.Status == OK) || f.Message == "" || strings.Contains(f.Message, "\n") {
			t.Errorf("got %+v, want a message, and an action unless all is well", f)
		}
		if f.Status != OK {
			found = append(found, string(f.Status)+" "+f.Check+": "+f.Message)
		}
	})
	return found
}

// expect checks that each of the texts is contained in exactly one finding, and that there are no other findings.
func expect(t *testing.T, found []string, want ...string) {
	t.Helper()
	for _, text := range want {
		if n := len(slices.DeleteFunc(slices.Clone(found), func(f string) bool { return !strings.Contains(f, text) })); n != 1 {
			t.Errorf("%d findings contain %q, want one:\n%s", n, text, strings.Join(found, "\n"))
		}
	}
	if len(found) != len(want) {
		t.Errorf("got %d findings, want %d:\n%s", len(found), len(want), strings.Join(found, "\n"))
	}
}

// noBackups is the only finding about a sound store without scheduled backups.
const noBackups = "warning backups: there are no scheduled backups"

func execFile(t *testing.T, path, statements string) {
	t.Helper()
	conn := shoptest.Must(sqlite.OpenConn(path, sqlite.OpenReadWrite))(t)
	defer conn.Close()
	shoptest.OK(t, sqlitex.ExecuteScript(conn, statements, nil))
}

// snapshot returns the contents of all files in a folder.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, entry := range shoptest.Must(os.ReadDir(dir))(t) {
		files[entry.Name()] = string(shoptest.Must(os.ReadFile(filepath.Join(dir, entry.Name())))(t))
	}
	return files
}

func TestDoctorChangesNothing(t *testing.T) {
	t.Parallel()
	for _, inUse := range []bool{false, true} {
		config := newStore(t)
		if inUse {
			s := shoptest.Must(shoptest.OpenAt(t.Context(), config.Database, shop.Options{}))(t)
			defer s.Store.Close()
			s.AddPet(t, "Mia", 1, shop.Available)
		}
		dir := filepath.Dir(config.Database)
		config.BackupFolder, config.BackupInterval = backup.NewFolder(dir, config.Database), time.Hour
		before := snapshot(t, dir)
		examine(t, config)
		after := snapshot(t, dir)
		delete(before, "shop.db-shm") // even reading the store may change this file
		delete(after, "shop.db-shm")
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("in use %v: the files have changed", inUse)
		}
	}
}

func TestDoctorExaminesFiles(t *testing.T) {
	t.Parallel()
	expect(t, examine(t, newStore(t)), noBackups)

	open := newStore(t)
	open.APIKeyFile = filepath.Join(t.TempDir(), "key")
	shoptest.OK(t, os.WriteFile(open.APIKeyFile, []byte("a-key-of-an-admin"), 0o600))
	shoptest.OK(t, os.Chmod(open.APIKeyFile, 0o640))
	shoptest.OK(t, os.Chmod(open.Database, 0o604))
	expect(t, examine(t, open), noBackups, "problem permissions: "+open.Database+" has the mode 0604", "problem permissions: "+open.APIKeyFile)

	missing := newStore(t)
	shoptest.OK(t, os.Remove(missing.Database))
	expect(t, examine(t, missing), noBackups, "warning database: there is no database at ")

	damaged := newStore(t)
	content := shoptest.Must(os.ReadFile(damaged.Database))(t)
	copy(content[len(content)/2:], strings.Repeat("x", 20000))
	shoptest.OK(t, os.WriteFile(damaged.Database, content, 0o600))
	expect(t, examine(t, damaged), noBackups, "the file is damaged")

	old := newStore(t)
	execFile(t, old.Database, "PRAGMA user_version = 3")
	expect(t, examine(t, old), noBackups, "warning database: the schema has version 3, and ")

	newer := newStore(t)
	execFile(t, newer.Database, "PRAGMA user_version = 1000")
	expect(t, examine(t, newer), noBackups, "problem database: it was written by a newer animalstore")
}

func TestDoctorComparesClockWithStore(t *testing.T) {
	t.Parallel()
	ahead := newStore(t)
	execFile(t, ahead.Database, "UPDATE events SET at = at + 3600000000")
	expect(t, examine(t, ahead), noBackups, "problem clock: ")

	file := newStore(t)
	shoptest.OK(t, os.Chtimes(file.Database, time.Time{}, time.Now().Add(time.Hour)))
	expect(t, examine(t, file), noBackups, "problem clock: ")
}

func TestDoctorExaminesBackups(t *testing.T) {
	t.Parallel()
	const sameDisk = "is on the disk of the database"
	config := newStore(t)
	dir := t.TempDir()
	config.BackupFolder, config.BackupInterval = backup.NewFolder(dir, config.Database), time.Hour
	expect(t, examine(t, config), sameDisk, "problem backups: "+dir+" has no backup")
	write := func(age time.Duration, mode os.FileMode) {
		name := "shop-" + time.Now().Add(-age).UTC().Format("20060102T150405Z") + ".db"
		shoptest.OK(t, os.WriteFile(filepath.Join(dir, name), nil, mode))
		shoptest.OK(t, os.Chmod(filepath.Join(dir, name), mode))
	}
	write(3*time.Hour, 0o600)
	expect(t, examine(t, config), sameDisk, "problem backups: the newest of 1 backups is 3h0m")
	write(time.Minute, 0o644)
	expect(t, examine(t, config), sameDisk, "problem permissions: "+dir)
	config.BackupFolder = backup.NewFolder(dir+"/missing", config.Database)
	expect(t, examine(t, config), "problem backups: the backup folder cannot be read")
}

func TestDoctorExaminesCertificates(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	authority := programtest.NewAuthority(t)
	for name, test := range map[string]struct {
		age, left time.Duration
		host      string
		want      []string
	}{
		"valid":           {60 * day, 30 * day, "localhost", nil},
		"another host":    {60 * day, 30 * day, "pets.example", []string{"warning certificate: the certificate is not valid for pets.example"}},
		"expires soon":    {70 * day, 20 * day, "", []string{"warning certificate: the certificate expires in 480h"}},
		"expires at once": {88 * day, 2 * day, "", []string{"problem certificate: the certificate expires in 48h"}},
		"expired":         {90 * day, -time.Minute, "", []string{"problem certificate: the certificate expired on "}},
		// These certificates are valid for six days and should be renewed during the last two.
		"short-lived":                 {4 * day, 2 * day, "", nil},
		"short-lived expires soon":    {5 * day, day, "", []string{"warning certificate: the certificate expires in 24h"}},
		"short-lived expires at once": {6*day - 20*time.Minute, 20 * time.Minute, "", []string{"problem certificate: the certificate expires in 20m"}},
	} {
		t.Run(name, func(t *testing.T) {
			config := newStore(t)
			dir := t.TempDir()
			cert, key := authority.IssueAged(test.age, test.left)
			config.TLSCert, config.TLSKey, config.PublicHost = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), test.host
			shoptest.OK(t, os.WriteFile(config.TLSCert, []byte(cert), 0o644))
			shoptest.OK(t, os.WriteFile(config.TLSKey, []byte(key), 0o640))
			expect(t, examine(t, config), append(test.want, noBackups)...)
			_, other := authority.Issue(time.Hour)
			shoptest.OK(t, os.WriteFile(config.TLSKey, []byte(other), 0o640))
			shoptest.OK(t, os.Chmod(config.TLSKey, 0o644))
			expect(t, examine(t, config), noBackups, "problem certificate: tls: private key does not match", "problem permissions: "+config.TLSKey)
		})
	}
}

func TestDoctorExaminesServers(t *testing.T) {
	t.Parallel()
	const backups = "warning backups: the service does not back up a PostgreSQL server"
	database := shoptest.NewPostgresDatabase(t)
	config := Config{Database: database, MaxConnections: 10}
	// The test server runs with fsync and full_page_writes turned off, because it is faster without them.
	const fsync, pages = "problem database: fsync is off", "warning database: full_page_writes is off"
	expect(t, examine(t, config), backups, fsync, pages)
	direct := pgtest.Connect(t, database)
	name := pgtest.Value[string](direct, "SELECT quote_ident(current_database())")
	direct.Do("ALTER DATABASE "+name+" SET synchronous_commit = off", "ALTER DATABASE "+name+" SET default_transaction_read_only = on")
	expect(t, examine(t, config), backups, fsync, pages, "warning database: synchronous_commit is off", "problem database: the server refuses writes")
	config.Database = pgtest.Shared(t).NewDatabaseInEncoding(t, "SQL_ASCII")
	expect(t, examine(t, config), backups, "problem database: cannot open the database: the encoding of the database is SQL_ASCII")
	config.Database = "postgres://nobody@127.0.0.1:1/nothing"
	expect(t, examine(t, config), backups, "problem database: cannot open the database: ")
}

func TestDoctorExaminesOpenFiles(t *testing.T) {
	t.Parallel()
	config := newStore(t)
	config.MaxConnections = 2_000_000_000
	expect(t, examine(t, config), noBackups, "warning open files: the limit of this process allows ")
}
