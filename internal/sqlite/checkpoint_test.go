package sqlite

import (
	"os"
	"testing"
)

// The log grows until it is moved to the database, by whoever writes and when that has nobody to answer; then it begins anew.
func TestCheckpoint(t *testing.T) {
	t.Parallel()
	path, writer, reader := openWriter(t)
	write := func(commits int) {
		for range commits {
			run(t, writer, "INSERT INTO things (data) VALUES (zeroblob(40000))") // some ten pages
			writer.Checkpoint()
		}
	}
	size := func(end string) int64 {
		t.Helper()
		info, err := os.Stat(path + end)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	write(40)
	if before := size(""); before > 10_000 {
		t.Errorf("the database has %d bytes before the log is long", before)
	}
	write(260)
	expect(t, "what was written", reader, "SELECT count(*) FROM things", "300")
	if data, log := size(""), size("-wal"); data < 7_000_000 || log > 6_000_000 {
		t.Errorf("of 12 MB, %d bytes are in the database; the log has %d", data, log)
	}

	run(t, reader, "BEGIN")
	expect(t, "what somebody reads", reader, "SELECT count(*) FROM things", "300")
	write(120)
	expect(t, "the same", reader, "SELECT count(*) FROM things", "300")
	run(t, reader, "COMMIT")
	grown := size("-wal")
	write(260)
	if log := size("-wal"); log > grown+6_000_000 {
		t.Errorf("the log has %d bytes, and went on from %d when nobody read it any longer", log, grown)
	}
}
