package cli

import (
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/creack/pty"

	"animalstore/internal/programtest"
	"animalstore/internal/shoptest"
)

// Completion offers the commands, flags and values that can come next. The cursor is at the end of each line.
func TestCompletionOffersCommandsFlagsAndFixedValues(t *testing.T) {
	for line, want := range map[string]string{
		"":                                   "serve pets photos categories orders events store inventory mcp link keys import export copy backup restore check doctor health completion version help",
		"--":                                 "--help --version",
		"pets re":                            "remove restore",
		"pets li":                            "list",
		"pets list ":                         "",
		"pets list --status ":                "available pending sold",
		"pets list --status p":               "pending",
		"pets list --status=":                "--status=available --status=pending --status=sold",
		"pets list --all --s":                "--status --search",
		"pets list --limit 7 --stat":         "--status",
		"pets show --output ":                "table json",
		"pets show -o j":                     "json",
		"pets show --v":                      "",
		"pets show 7 --u":                    "--url",
		"pets show --key-file ":              ":files",
		"orders list --status ":              "placed approved delivered cancelled expired",
		"events --type order.p":              "order.placed",
		"events --type pet.created,pet.del":  "pet.created,pet.deleted",
		"keys create --role ":                "staff partner-read partner-order admin",
		"keys create --scope pets:":          "pets:read pets:write",
		"keys create --scope=pets:read,p":    "--scope=pets:read,pets:write",
		"keys create --environment ":         "production staging",
		"keys create --name keys --role par": "partner-read partner-order",
		"serve --categories ":                "open known",
		"serve --database ":                  ":files",
		"serve --nope=":                      "",
		"import ":                            ":files",
		"import --mode ":                     "create upsert",
		"import --format ":                   "csv ndjson",
		"backup --force ":                    ":files",
		"completion ":                        "bash zsh fish",
		"help pets s":                        "show set",
	} {
		r := succeed(t, append([]string{"completion", "bash", "--"}, strings.Split(line, " ")...)...)
		if got := strings.Join(strings.Fields(r.Stdout), " "); got != want || r.Stderr != "" {
			t.Errorf("%q: got %q, %q, want %q", line, got, r.Stderr, want)
		}
	}
}

// completions maps the text that a user types before pressing Tab to the completed line.
var completions = map[string]string{
	"animalstore inv":                                  "animalstore inventory ",
	"animalstore pets li":                              "animalstore pets list ",
	"animalstore pets list --sta":                      "animalstore pets list --status ",
	"animalstore pets list --status av":                "animalstore pets list --status available ",
	"animalstore pets list --status=so":                "animalstore pets list --status=sold ",
	"animalstore orders list --status pl":              "animalstore orders list --status placed ",
	"animalstore keys create --role st":                "animalstore keys create --role staff ",
	"animalstore keys create --scope orders:w":         "animalstore keys create --scope orders:write ",
	"animalstore keys create --scope pets:read,ev":     "animalstore keys create --scope pets:read,events:read ",
	"animalstore keys create --environment sta":        "animalstore keys create --environment staging ",
	"animalstore pets show -o j":                       "animalstore pets show -o json ",
	"animalstore pets add --name 'Old Rex' --status p": "animalstore pets add --name 'Old Rex' --status pending ",
	"animalstore help orders pl":                       "animalstore help orders place ",
	"animalstore restore mond":                         "animalstore restore monday.db ",
	"animalstore check --database mond":                "animalstore check --database monday.db ",
	"animalstore check --database=mond":                "animalstore check --database=monday.db ",
}

// The completion scripts work in real shells that run on a terminal.
func TestCompletionInBashAndZsh(t *testing.T) {
	installProgram(t)
	for shell, test := range map[string]struct {
		args  []string
		setup string // loads the completion script and makes Ctrl-T print the current line in brackets
	}{
		"bash": {[]string{"--norc", "--noprofile", "-i"}, `eval "$(animalstore completion bash)"; bind -x '"\C-t": printf "[%s]\n" "$READLINE_LINE"'`},
		"zsh": {[]string{"-f", "-i"}, `bindkey -e; autoload -Uz compinit; compinit -u -D; source <(animalstore completion zsh); ` +
			`show() { zle -I; print -r -- "[$BUFFER]" }; zle -N show; bindkey '^T' show`},
	} {
		t.Run(shell, func(t *testing.T) {
			newFolder(t).Write("monday.db", "")
			keyboard, screen := startShell(t, shell, test.args...)
			send := func(text string) { shoptest.Must(io.WriteString(keyboard, text))(t) }
			send(test.setup + "; PS1='rea''dy> '\n")
			awaitText(t, screen, "ready> ")
			for typed, want := range completions {
				send(typed + "\t\x14")
				// Also wait for the next prompt, because the shell handles key presses as usual only after that.
				programtest.Await(t, want, func() bool {
					_, after, shown := strings.Cut(screen.String(), "["+want+"]")
					return shown && strings.Contains(after, "ready> ")
				})
				send("\x15") // Ctrl-U deletes the line
			}
		})
	}
}

// startShell starts a shell on its own pseudoterminal. The shell is killed when the test ends.
func startShell(t *testing.T, shell string, args ...string) (keyboard io.Writer, screen *programtest.Transcript) {
	t.Helper()
	command := exec.Command(shell, args...)
	command.Env = append(os.Environ(), "HOME="+t.TempDir(), "TERM=dumb", "HISTFILE=")
	control, err := pty.StartWithSize(command, &pty.Winsize{Rows: 50, Cols: 200})
	shoptest.OK(t, err)
	screen = &programtest.Transcript{}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		io.Copy(screen, control) // Copy returns an error when the shell ends
	}()
	t.Cleanup(func() {
		command.Process.Kill()
		command.Wait() // Wait returns an error, because the shell was killed
		<-copied
		control.Close()
		if t.Failed() {
			t.Logf("the terminal shows %q", screen)
		}
	})
	return control, screen
}

// fish needs no terminal to print the candidates for a line.
func TestCompletionInFish(t *testing.T) {
	installProgram(t)
	newFolder(t).Write("monday.db", "")
	t.Setenv("HOME", t.TempDir())
	for typed, want := range completions {
		script := `animalstore completion fish | source; complete -C $argv[1]`
		output, err := exec.Command("fish", "--no-config", "-c", script, typed).CombinedOutput()
		word, description, _ := strings.Cut(strings.TrimSpace(string(output)), "\t")
		wanted := strings.Fields(want)
		if err != nil || word != wanted[len(wanted)-1] || strings.Contains(description, "\n") {
			t.Errorf("%s: got %q, %v, want only %s", typed, output, err, wanted[len(wanted)-1])
		}
	}
	output, err := exec.Command("fish", "--no-config", "-c", `animalstore completion fish | source; complete -C "animalstore pets "`).Output()
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	if err != nil || len(lines) != 8 || !slices.Contains(lines, "list\tList the animals, newest first.") {
		t.Errorf("got %q, %v, want the eight commands with their help", lines, err)
	}
}
