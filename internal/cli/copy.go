package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"animalstore/internal/storeadmin"
)

// copyCommand copies a store to another database. Clients can continue with the copy as if it were the original store.
type copyCommand struct {
	Database string `env:"ANIMALSTORE_DATABASE" default:"animalstore.db" placeholder:"DATABASE" help:"Store to copy: a file that is not in use, or a postgres:// URL (default ${default})."`
	To       string `required:"" env:"ANIMALSTORE_COPY_TO" placeholder:"DATABASE" help:"Empty database to copy to: a file or a postgres:// URL. Put a URL with a password into the environment variable."`
}

// Run prints each copied table with its checksum, which is the same in the source and the target.
func (c *copyCommand) Run(ctx context.Context, t terminal) error {
	if err := checkDatabase(c.Database, databaseVariable); err != nil {
		return usagef("--database: %w", err)
	}
	if err := checkDatabase(c.To, "ANIMALSTORE_COPY_TO"); err != nil {
		return usagef("--to: %w", err)
	}
	line := &copyProgress{out: t.err, terminal: isTerminal(t.err)}
	copied, err := storeadmin.Copy(ctx, c.Database, c.To, line.show)
	line.clear()
	if ctx.Err() != nil && err != nil {
		return fmt.Errorf("interrupted: %w", err)
	}
	if err != nil {
		return err
	}
	for _, table := range copied {
		if _, err := fmt.Fprintln(t.out, table); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(t.err, "Copied %s to %s and verified the copy.\n", redact(c.Database), redact(c.To))
	return err
}

// copyProgress prints the progress of a copy. On a terminal, it repeatedly overwrites one line. If the output is not a
// terminal, it prints a new line every few seconds.
type copyProgress struct {
	out      io.Writer
	terminal bool
	open     bool // whether a line on the terminal must be cleared
	last     storeadmin.CopyProgress
	next     time.Time // the time at which the next progress line about the same table is due
}

func (l *copyProgress) show(p storeadmin.CopyProgress) {
	now := time.Now()
	begins, ends := p.Doing != l.last.Doing || p.Table != l.last.Table, p.Rows == p.Of
	if p == l.last || !begins && !ends && now.Before(l.next) {
		return
	}
	l.last = p
	if !l.terminal {
		l.next = now.Add(10 * time.Second)
		fmt.Fprintf(l.out, "%s %s: %d of %d rows\n", p.Doing, p.Table, p.Rows, p.Of)
		return
	}
	l.next, l.open = now.Add(100*time.Millisecond), true
	fmt.Fprintf(l.out, "\r\x1b[K%s %s: %d of %d rows", p.Doing, p.Table, p.Rows, p.Of)
}

// clear removes the progress line from the terminal.
func (l *copyProgress) clear() {
	if l.open {
		fmt.Fprint(l.out, "\r\x1b[K")
	}
}
