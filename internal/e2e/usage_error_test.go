package e2e

import (
	"slices"
	"strings"
	"testing"
)

// expectUsageError runs the program and checks that the exit code is 2, that the error message contains
// names, and that no files were created.
func expectUsageError(t *testing.T, f *folder, names string, args ...string) result {
	t.Helper()
	f.variables = slices.Insert(f.variables, 0, "ANIMALSTORE_ADDR="+takenAddr(t))
	r := f.run(args...)
	expectRefusal(t, r, 2, names)
	if names := f.names(); len(names) != 0 {
		t.Errorf("files: got %q, want none", names)
	}
	return r
}

// around returns the first occurrence of part in text with up to 40 bytes of context on each side.
func around(text, part string) string {
	i := strings.Index(text, part)
	return text[max(0, i-40):min(len(text), i+len(part)+40)]
}
