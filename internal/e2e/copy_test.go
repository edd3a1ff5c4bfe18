package e2e

import (
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"

	"animalstore/internal/programtest"
)

// TestCopyShowsProgressOnTerminal checks that copy shows its progress on one line and erases this line at the
// end.
func TestCopyShowsProgressOnTerminal(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolder(t)
	f.CreateKey("--name", "n")
	command := exec.Command(programtest.Binary(t), "copy", "--to", "to.db")
	command.Dir, command.Env = f.Dir, f.Environment()
	output := &programtest.Transcript{}
	terminal, err := pty.Start(command)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	io.Copy(output, terminal) // io.Copy returns an error when the program exits
	if err := command.Wait(); err != nil {
		t.Error(err)
	}
	before, after, _ := strings.Cut(output.String(), "\x1b[Ksettings 1 rows, sha256")
	shown := strings.Contains(before, "\r\x1b[Kcopying settings: 1 of 1 rows\r")
	if !shown || strings.Contains(before, "\n") || strings.Contains(after, "\x1b") {
		t.Errorf("got %q, want one progress line that is erased before the results", output)
	}
}
