package cli

import (
	"strings"
	"testing"
)

// Output is colored only on a terminal, and never if NO_COLOR is set.
func TestOnlyATerminalGetsColors(t *testing.T) {
	newShop(t)
	succeed(t, "pets", "add", "--name", "Rex", "--category", "1", "--status", "available")
	if plain := succeed(t, "pets", "list").Stdout; strings.Contains(plain, "\x1b") {
		t.Errorf("a file gets %q", plain)
	}
	show := func() string {
		screen, out := openTerminal(t)
		if code := run(t.Context(), []string{"pets", "list"}, terminal{out, out}); code != exitOK {
			t.Fatalf("exit code %d", code)
		}
		awaitText(t, screen, "Rex")
		return screen.String()
	}
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	got := show()
	for _, want := range []string{bold + "STATUS" + reset, green + "available" + reset + "   1 "} {
		if !strings.Contains(got, want) {
			t.Errorf("a terminal gets %q without %q", got, want)
		}
	}
	t.Setenv("NO_COLOR", "1")
	if got := show(); strings.Contains(got, "\x1b") {
		t.Errorf("with NO_COLOR, a terminal gets %q", got)
	}
}
