package pgtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStartAppliesSettingsAndDurableTurnsFsyncOn(t *testing.T) {
	t.Parallel()
	got := Value[string](Connect(t, Start(t, append(Durable, "work_mem=5MB")...).URL()), `
		SELECT concat_ws(' ', pg_encoding_to_char(encoding), datcollate, current_setting('work_mem'), current_setting('fsync'))
		FROM pg_database WHERE datname = current_database()`)
	if want := "UTF8 C.UTF-8 5MB on"; got != want {
		t.Errorf("the encoding, the collation, work_mem and fsync are %s, want %s", got, want)
	}
}

func TestFailedStartSaysWhy(t *testing.T) {
	t.Parallel()
	s, err := newServer("shared_buffers=cats")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(s.data) })
	if err := s.startOnFreePort(); err == nil || !strings.Contains(err.Error(), "cats") {
		t.Errorf("the error is %v", err)
	}
}

// A server fails to start if its port is taken. It must not mistake the other server on this port for itself.
func TestTakenPortIsAnError(t *testing.T) {
	t.Parallel()
	first, second := Start(t), Start(t)
	second.Stop(t)
	second.port = first.port
	if err := second.start(); err == nil || !strings.Contains(err.Error(), "could not bind") {
		t.Errorf("the error is %v", err)
	}
}

func TestFindProgramsTakesTheNewest(t *testing.T) {
	t.Setenv("PATH", "")
	t.Setenv(programsVariable, "")
	dir := t.TempDir()
	if _, err := findPrograms(filepath.Join(dir, "*", "bin")); err == nil || !strings.Contains(err.Error(), "make test") {
		t.Errorf("without PostgreSQL, the error is %v", err)
	}
	for _, version := range []string{"9.6", "15", "17"} {
		bin := filepath.Join(dir, version, "bin")
		must(t, os.MkdirAll(bin, 0o700))
		must(t, os.WriteFile(filepath.Join(bin, "initdb"), nil, 0o700))
	}
	if bin, err := findPrograms(filepath.Join(dir, "*", "bin")); bin != filepath.Join(dir, "17", "bin") {
		t.Errorf("found %s, %v", bin, err)
	}
	t.Setenv(programsVariable, "/opt/postgres/bin")
	if bin, err := findPrograms(filepath.Join(dir, "*", "bin")); bin != "/opt/postgres/bin" {
		t.Errorf("with %s, found %s, %v", programsVariable, bin, err)
	}
}
