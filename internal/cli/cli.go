// Package cli implements the command line. Each command parses its flags, calls the other packages and prints
// the result.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"animalstore/internal/shop"
)

// commandLine defines all commands, flags and arguments.
type commandLine struct {
	Serve serveCommand `cmd:"" help:"Run the service."`

	Pets       petsCommands       `cmd:"" help:"List, add, change and remove animals in a running store."`
	Photos     photosCommands     `cmd:"" help:"List, add, move and remove the photos of animals in a running store."`
	Categories categoriesCommands `cmd:"" help:"List, add, rename and remove categories in a running store."`
	Orders     ordersCommands     `cmd:"" help:"List, place, approve, deliver and cancel orders in a running store."`
	Events     eventsCommand      `cmd:"" help:"Show the events of a running store, or follow new ones."`
	Store      storeCommands      `cmd:"" help:"Show and change the name, address, time zone and other settings of a running store."`
	Inventory  inventoryCommand   `cmd:"" help:"Count the animals in a running store by status."`
	MCP        mcpCommand         `cmd:"" name:"mcp" help:"Let an assistant use a running store, over standard input and output (Model Context Protocol)."`

	Link       linkCommand       `cmd:"" help:"Print a link that signs in to the staff pages once, directly from the database."`
	Keys       keysCommands      `cmd:"" help:"Manage API keys directly in the database."`
	Import     importCommand     `cmd:"" help:"Import animals from a CSV or NDJSON file into a running store."`
	Export     exportCommand     `cmd:"" help:"Export all animals of a running store to a CSV or NDJSON file."`
	Copy       copyCommand       `cmd:"" help:"Copy a whole store to an empty database: from a file to PostgreSQL, or back."`
	Backup     backupCommand     `cmd:"" help:"Back up a store to a file, even while it is in use."`
	Restore    restoreCommand    `cmd:"" help:"Restore a store from a backup."`
	Check      checkCommand      `cmd:"" help:"Check a whole store for damage and inconsistencies, even while it is in use."`
	Doctor     doctorCommand     `cmd:"" help:"Examine settings, disk, clock, database, certificate, files, limits and backups, and say what to do."`
	Health     healthCommand     `cmd:"" help:"Check whether the service on this machine is ready."`
	Completion completionCommand `cmd:"" help:"Print a script that completes commands, flags and values in a shell."`

	Version versionCommand `cmd:"" help:"Print the version."`
	Help    helpCommand    `cmd:"" help:"Show the help for a command."`

	PrintVersion versionFlag `name:"version" help:"Print the version."`
}

// terminal holds the output streams for a command. Results are written to out, and everything else to err.
type terminal struct{ out, err io.Writer }

// usageError is an error in the command's arguments. It makes the program exit with exitUsage.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Run runs the command given by the arguments until it ends or a signal interrupts it. It returns the exit
// code.
func Run(args []string, out, errs io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // after the first signal, another one kills the process
	return run(ctx, args, terminal{out, errs})
}

// run runs a command until it ends or ctx is cancelled. It returns the exit code.
func run(ctx context.Context, args []string, t terminal) int {
	unsetEmptyVariables()

	helped := false
	parser, err := kong.New(&commandLine{},
		kong.Name("animalstore"),
		kong.Description("Manages the animals and orders of a pet store.\n\nTo begin, run: animalstore serve"),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		kong.Help(printHelp),
		durationMapper(),
		kong.Writers(t.out, t.err),
		kong.Exit(func(int) { helped = true }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(t),
	)
	if err != nil {
		return reportError(t.err, err)
	}
	command, err := parser.Parse(args)
	if helped {
		return exitOK
	}
	if err != nil {
		return reportParseError(t.err, err)
	}
	err = command.Run()
	if errors.Is(err, shop.ErrOtherEnvironment) {
		err = usagef("--environment: %w", err)
	}
	if err != nil {
		return reportError(t.err, err)
	}
	return exitOK
}

// reportParseError prints what is wrong with the arguments. If the arguments name no command, it prints the
// help instead.
func reportParseError(errs io.Writer, err error) int {
	command := "animalstore"
	if wrong, ok := errors.AsType[*kong.ParseError](err); ok {
		at := wrong.Context.Model.Node
		if selected := wrong.Context.Selected(); selected != nil {
			at, command = selected, command+" "+selected.Path()
		}
		args := wrong.Context.Args
		isGroup := at.Type != kong.ArgumentNode && len(at.Children) > 0
		if isGroup && (len(args) == 0 || args[len(args)-1] == at.Name) {
			wrong.Context.Stdout = errs
			// PrintUsage may fail, but an error while writing to stderr cannot be reported.
			wrong.Context.PrintUsage(false)
			return exitUsage
		}
	}
	return reportError(errs, usagef("%w (see %s --help)", err, command))
}

// reportError prints an error on one line, unless the error was already printed. It returns the exit code.
func reportError(errs io.Writer, err error) int {
	if done, ok := errors.AsType[reportedError](err); ok {
		return done.code
	}
	fmt.Fprintln(errs, "animalstore:", escapeControls(strings.Join(strings.Fields(err.Error()), " ")))
	if why, ok := errors.AsType[codedError](err); ok {
		return why.code
	}
	if isUsageError(err) {
		return exitUsage
	}
	return exitError
}

// unsetEmptyVariables unsets the ANIMALSTORE_ environment variables that are empty. Authors of container
// files expect empty variables to count as unset.
func unsetEmptyVariables() {
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "ANIMALSTORE_") && value == "" {
			os.Unsetenv(name)
		}
	}
}
