package storeadmin

import (
	"os"
	"testing"
)

// A rehearsal describes the backup, changes neither the backup nor the store, and leaves nothing behind.
func TestRehearsalDescribesTheBackupAndChangesNothing(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	p := newPlace(t)
	_, event := p.add(2)
	file := p.backup("backup.db")
	before := must(os.ReadFile(file))(t)
	done := must(Rehearse(t.Context(), file, func(finding string) { t.Error(finding) }))(t)
	c := must(openSnapshot(t.Context(), p.path))(t)
	defer c.Close()
	for _, table := range done.Tables {
		if n := must(number(t.Context(), c, "SELECT count(*) FROM "+table.Name))(t); n != table.Rows || n == 0 {
			t.Errorf("%s: got %d rows, want %d, and more than none", table.Name, table.Rows, n)
		}
	}
	if len(done.Tables) < 6 || done.NewestEvent == nil || done.NewestEvent.ID != event || done.Schema != done.Current || done.Findings != 0 {
		t.Errorf("got %+v, want six tables, event %d and no findings", done, event)
	}
	if after := must(os.ReadFile(file))(t); string(after) != string(before) {
		t.Error("the backup was changed")
	}
	if left := must(os.ReadDir(temp))(t); len(left) > 0 {
		t.Errorf("%v was left behind", left)
	}
}

func TestRehearsalFindsWhatARestoreWouldRefuse(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	file := newPlace(t).backup("backup.db")
	execFile(t, file, "UPDATE inventory SET sold = sold + 5")
	found := 0
	done := must(Rehearse(t.Context(), file, func(string) { found++ }))(t)
	if done.Findings == 0 || done.Findings != found {
		t.Errorf("a backup that breaks rules: got %d findings, %d reported; want some", done.Findings, found)
	}
	content := must(os.ReadFile(file))(t)
	noError(t, os.WriteFile(file, append(content[:len(content)/2], make([]byte, len(content)/2)...), 0o600))
	if _, err := Rehearse(t.Context(), file, func(string) {}); err == nil {
		t.Error("a damaged backup could be restored")
	}
	if left := must(os.ReadDir(temp))(t); len(left) > 0 {
		t.Errorf("%v was left behind", left)
	}
}

// A rehearsal migrates its copy of a backup that has an older schema, as a restore does.
func TestRehearsalMigratesAnOlderSchema(t *testing.T) {
	t.Parallel()
	old := oldStore(t)
	execFile(t, old, "INSERT INTO settings VALUES ('environment', 'production')")
	done := must(Rehearse(t.Context(), old, func(finding string) { t.Error(finding) }))(t)
	if done.Schema != 1 || done.Current <= 1 || done.Findings != 0 || done.NewestEvent != nil {
		t.Errorf("got %+v, want schema 1, a newer one, and neither findings nor events", done)
	}
}
