package cli

import (
	"context"
	"errors"
	"fmt"

	"animalstore/internal/storeadmin"
)

// checkCommand checks the consistency of a whole store without changing anything.
type checkCommand struct {
	Database string `env:"ANIMALSTORE_DATABASE" default:"animalstore.db" placeholder:"DATABASE" help:"Store to check: a file, a backup or a postgres:// URL (default ${default})."`
}

// Run prints one finding per line and fails if there are any findings.
func (c *checkCommand) Run(ctx context.Context, t terminal) error {
	if err := checkDatabase(c.Database, databaseVariable); err != nil {
		return usagef("--database: %w", err)
	}
	found, err := storeadmin.Check(ctx, c.Database, lineWriter(t.out))
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.New("interrupted: the check is incomplete")
	case found.All > 0:
		return errors.Join(fmt.Errorf("%s has %s", redact(c.Database), count(found.All, "finding")), err)
	case err != nil:
		return err
	}
	_, err = fmt.Fprintf(t.err, "No problems found in %s.\n", redact(c.Database))
	return err
}
