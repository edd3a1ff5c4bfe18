package shop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// Environment is the deployment that a store belongs to, either production or staging. A store refuses keys
// that were issued for the other environment.
type Environment string

const (
	Production Environment = "production"
	Staging    Environment = "staging"
)

// ErrOtherEnvironment is returned by Open if the store does not belong to the requested environment.
var ErrOtherEnvironment = errors.New("the database belongs to another environment")

// adoptEnvironment sets the service's environment to the one recorded in the store. If the store is new, it
// records the wanted environment first. It returns ErrOtherEnvironment if the store belongs to an environment
// other than the wanted one.
func (s *Service) adoptEnvironment(ctx context.Context, wanted Environment) error {
	stored, err := read(ctx, s, Reading{}, ReadTx.Environment)
	if err == nil && stored == "" {
		err = s.bookkeep(ctx, func(tx BookkeepingTx) (err error) {
			if stored, err = tx.Environment(); err != nil || stored != "" {
				return err // another node has already recorded an environment
			}
			stored = cmp.Or(wanted, Production)
			return tx.SetEnvironment(stored)
		})
	}
	if err != nil {
		return err
	}
	if wanted != "" && wanted != stored {
		return fmt.Errorf("%w: %s, not %s", ErrOtherEnvironment, stored, wanted)
	}
	s.environment = stored
	return nil
}

// Environment returns the deployment that this shop's store belongs to.
func (s *Service) Environment() Environment { return s.environment }
