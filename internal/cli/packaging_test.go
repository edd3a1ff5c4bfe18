package cli

import (
	"encoding/json"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"animalstore/internal/server"
)

// grammar returns a parser with all commands and flags.
func grammar(t *testing.T) *kong.Kong {
	t.Helper()
	parser, err := kong.New(&commandLine{}, kong.Name("animalstore"), kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	return parser
}

func readRepoFile(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// flagVariables returns the environment variables that set the flags of a command.
func flagVariables(t *testing.T, parser *kong.Kong, command string) (variables []string) {
	t.Helper()
	for _, node := range parser.Model.Children {
		if node.Name == command {
			for _, flag := range node.Flags {
				variables = append(variables, flag.Envs...)
			}
		}
	}
	return append(variables, "ANIMALSTORE_API_KEY") // this variable has no flag, because keys must not be passed as flags
}

// The packaging files use only commands, flags and environment variables that exist.
func TestPackagingUsesExistingFlags(t *testing.T) {
	t.Parallel()
	parser := grammar(t)
	known := flagVariables(t, parser, "serve")
	variable := regexp.MustCompile(`\bANIMALSTORE_[A-Z_]+`)
	for _, name := range []string{"Dockerfile", "compose.yaml", ".env.example", "packaging/debian/animalstore.env", "packaging/debian/animalstore.service", "packaging/debian/animalstore-admin"} {
		for _, used := range variable.FindAllString(readRepoFile(t, name), -1) {
			if !slices.Contains(known, used) {
				t.Errorf("%s sets %s, which serve does not read", name, used)
			}
		}
	}
	settings := readRepoFile(t, "packaging/debian/animalstore.env")
	for _, name := range known {
		if !regexp.MustCompile(`(?m)^#?` + name + `=`).MatchString(settings) {
			t.Errorf("animalstore.env does not mention %s", name)
		}
	}
	for name, pattern := range map[string]string{
		"packaging/debian/animalstore.service": `(?m)^ExecStart=/usr/bin/animalstore (.*)$`,
		"packaging/debian/postinst":            `animalstore-admin (keys[^"]*)`,
		"compose.yaml":                         `exec node1 animalstore (.*)`,
	} {
		found := regexp.MustCompile(pattern).FindStringSubmatch(readRepoFile(t, name))
		if found == nil {
			t.Errorf("%s runs no command", name)
			continue
		}
		if _, err := parser.Parse(strings.Fields(found[1])); err != nil {
			t.Errorf("%s: animalstore %s: %v", name, found[1], err)
		}
	}
}

// The image contains no shell, so its commands are written as lists. It does not run as root.
func TestDockerfileNeedsNoShell(t *testing.T) {
	t.Parallel()
	dockerfile := readRepoFile(t, "Dockerfile")
	list := func(instruction string) (words []string) {
		found := regexp.MustCompile(`(?m)^` + instruction + `.*?(\[.*\])$`).FindStringSubmatch(dockerfile)
		if found == nil {
			t.Fatalf("there is no %s with a list", instruction)
		}
		if err := json.Unmarshal([]byte(found[1]), &words); err != nil {
			t.Fatal(err)
		}
		return words
	}
	entry := list("ENTRYPOINT")
	health := list("HEALTHCHECK")
	for _, args := range [][]string{list("CMD"), health[1:]} {
		if _, err := grammar(t).Parse(args); err != nil {
			t.Errorf("animalstore %q: %v", args, err)
		}
	}
	if len(entry) != 1 || health[0] != entry[0] {
		t.Errorf("it runs %q, but its health check %q", entry, health)
	}
	if !regexp.MustCompile(`(?m)^USER [1-9][0-9]*:[1-9][0-9]*$`).MatchString(dockerfile) {
		t.Error("USER is not a numeric id other than 0")
	}
}

// The version in an image comes from git. The image build must therefore see every file that git tracks.
func TestDockerIgnoresWhatGitIgnores(t *testing.T) {
	t.Parallel()
	lines := func(name string) (patterns []string) {
		for line := range strings.Lines(readRepoFile(t, name)) {
			if line = strings.TrimPrefix(strings.TrimSpace(line), "/"); line != "" && line[0] != '#' {
				patterns = append(patterns, line)
			}
		}
		return patterns
	}
	ignored := lines(".gitignore")
	for _, pattern := range lines(".dockerignore") {
		if !slices.Contains(ignored, pattern) {
			t.Errorf("%s is in .dockerignore but not in .gitignore", pattern)
		}
	}
}

// The manual page lists every command with its help text.
func TestManualListsEveryCommand(t *testing.T) {
	t.Parallel()
	manual := readRepoFile(t, "packaging/animalstore.1")
	for _, command := range grammar(t).Model.Children {
		if !strings.Contains(manual, "\n.B "+command.Name+"\n"+command.Help+"\n") {
			t.Errorf("animalstore.1 lacks %s: %s", command.Name, command.Help)
		}
	}
}

// systemd and Docker Compose must not kill the service before its own shutdown timeout.
func TestUnitWaitsForShutdown(t *testing.T) {
	t.Parallel()
	if longest := server.ShutdownTimeout + drainDelay; longest >= 100*time.Second {
		t.Errorf("a shutdown may take %s: TimeoutStopSec and stop_grace_period must be longer", longest)
	}
	if !strings.Contains(readRepoFile(t, "packaging/debian/animalstore.service"), "\nTimeoutStopSec=100s\n") || !strings.Contains(readRepoFile(t, "compose.yaml"), "\n  stop_grace_period: 100s ") {
		t.Error("TimeoutStopSec or stop_grace_period is not 100s")
	}
}
