package programtest

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestBuildSaysThatTheHistoryIsMissing(t *testing.T) {
	t.Parallel()
	clone := t.TempDir()
	if err := runIn(t.Context(), clone, "git", "init", "--quiet"); err != nil {
		t.Fatal(err)
	}
	err := Version11.build(t.Context(), clone, filepath.Join(clone, "animalstore"))
	if err == nil {
		t.Fatal("got no error from a repository without history")
	}
	for _, want := range []string{Version11.Version, Version11.commit, clone, "git fetch --unshallow"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got the error %q, want it to contain %q", err, want)
		}
	}
}
