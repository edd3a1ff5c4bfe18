package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/alecthomas/kong"

	"animalstore/internal/version"
)

type versionCommand struct{}

func (versionCommand) Run(t terminal) error {
	_, err := fmt.Fprintf(t.out, "animalstore %s (%s%s, %s/%s)\n", version.Number, commit(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// versionFlag is the --version flag, which does the same as the version command.
type versionFlag bool

// BeforeReset prints the version and exits, before Kong can report that the command is missing.
func (versionFlag) BeforeReset(app *kong.Kong, t terminal) error {
	if err := (versionCommand{}).Run(t); err != nil {
		return err
	}
	app.Exit(exitOK)
	return nil
}

// commit returns the commit that the binary was built from, such as "commit 6570a1c, ". It returns "" if Go has not
// recorded the commit, as with "go run".
func commit() string {
	text, changed := "", ""
	info, _ := debug.ReadBuildInfo()
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			text = "commit " + setting.Value[:min(len(setting.Value), 12)]
		case setting.Key == "vcs.modified" && setting.Value == "true":
			changed = " with changes"
		}
	}
	if text == "" {
		return ""
	}
	return text + changed + ", "
}
