package cli

import (
	"context"
	"errors"
	"fmt"

	"animalstore/internal/demo"
	"animalstore/internal/server"
	"animalstore/internal/sqlstore"
)

// fillDemo fills an empty store with made-up data if --demo is set. It returns the number of animals that it
// added.
func (s *serveCommand) fillDemo(ctx context.Context, store *sqlstore.Store, log *server.BufferedLog) (animals int, err error) {
	if !s.Demo {
		return 0, nil
	}
	animals, err = demo.Fill(ctx, store, s.Database)
	if errors.Is(err, demo.ErrNotEmpty) {
		return 0, fmt.Errorf("--demo needs an empty database, but %s is not empty: %w; "+
			"omit --demo to serve it, or choose another with --database", redact(s.Database), err)
	}
	if err != nil {
		return 0, err
	}
	log.Info("demo: all data in this store is made up", "animals_added", animals)
	return animals, nil
}
