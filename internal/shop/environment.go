package shop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// Environment is the deployment that a store belongs to. A store refuses the keys of the other environment.
type Environment string

const (
	Production Environment = "production"
	Staging    Environment = "staging"
)

func (e Environment) keyPrefix() string {
	if e == Staging {
		return "ask_test_"
	}
	return "ask_live_"
}

// ErrOtherEnvironment is returned by Open if the store belongs to another environment than the one requested.
var ErrOtherEnvironment = errors.New("the database belongs to another environment")

// adoptEnvironment takes on the environment of the store, and stores the wanted one in a new store. It returns
// ErrOtherEnvironment if the store belongs to another environment than the wanted one.
func (s *Service) adoptEnvironment(ctx context.Context, wanted Environment) error {
	stored, err := read(ctx, s, ReadTx.Environment)
	if err == nil && stored == "" {
		err = s.bookkeep(ctx, func(tx BookkeepingTx) (err error) {
			if stored, err = tx.Environment(); err != nil || stored != "" {
				return err // another node was faster
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

// Environment returns the deployment that this shop belongs to.
func (s *Service) Environment() Environment { return s.environment }
