package golden

import (
	"regexp"
	"strings"
	"testing"

	"animalstore/internal/programtest"
)

// TestHelp compares the --help output of the program and of every command with the golden files.
func TestHelp(t *testing.T) {
	t.Parallel()
	var files []string
	for todo := [][]string{nil}; len(todo) > 0; todo = todo[1:] {
		command := todo[0]
		help := helpOf(t, command)
		name := strings.Join(append([]string{"animalstore"}, command...), "-") + ".txt"
		check(t, "help/"+name, help)
		files = append(files, name)
		todo = append(todo, parseCommands(help)...)
	}
	if len(files) < 30 {
		t.Errorf("there are only %d commands: %q", len(files), files)
	}
	checkFiles(t, "help", files)
}

func helpOf(t *testing.T, command []string) string {
	t.Helper()
	r := programtest.NewFolder(t).MustRun(append(command[:len(command):len(command)], "--help")...)
	if r.Stderr != "" {
		t.Fatalf("%q --help: got %v, want nothing on stderr", command, r)
	}
	return r.Stdout
}

var commandLine = regexp.MustCompile(`(?m)^  ([a-z]+(?: [a-z]+)*)(?: .*)?$`)

// parseCommands returns the commands listed in a help text. Each command includes the names of its parent
// commands.
func parseCommands(help string) (commands [][]string) {
	_, list, _ := strings.Cut(help, "\nCommands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for _, line := range commandLine.FindAllStringSubmatch(list, -1) {
		commands = append(commands, strings.Fields(line[1]))
	}
	return commands
}
