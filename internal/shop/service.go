// Package shop is what an animal store is: its animals, its keys, and the rules that hold between them. It knows
// neither HTTP nor SQL.
package shop

import (
	"context"
	"fmt"
	"time"
)

// Environment is the deployment that a store belongs to. Keys of one are refused by the other.
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

// Options are what a Service is told when it opens.
type Options struct {
	// Environment is what the store must belong to; a new store takes it on. Empty takes a new store to
	// production and any other as it is.
	Environment Environment
	// ConfiguredKey is accepted with the scope admin and stored nowhere; empty: none.
	ConfiguredKey string
}

// Service is the shop, open. Everything that a client, a page or a command does goes through it.
type Service struct {
	store          Store
	environment    Environment
	configured     *Key // nil: none
	configuredHash SecretHash
	keyring        *keyring
	uses           *uses
}

// Open opens the shop on a store. It refuses one of another environment.
func Open(ctx context.Context, store Store, o Options) (*Service, error) {
	environment, err := settle(ctx, store, o.Environment)
	if err != nil {
		return nil, err
	}
	s := &Service{store: store, environment: environment, keyring: newKeyring(), uses: newUses()}
	if o.ConfiguredKey != "" {
		s.configured = &Key{Name: "configured", Scopes: []Scope{Admin}, Hint: hint(o.ConfiguredKey), CreatedAt: s.now()}
		s.configuredHash = HashSecret(o.ConfiguredKey)
	}
	return s, nil
}

// settle returns the environment of a store, and writes it into a new one.
func settle(ctx context.Context, store Store, wanted Environment) (Environment, error) {
	stored, err := read(ctx, store, func(tx ReadTx) (Environment, error) { return tx.Environment() })
	if err == nil && stored == "" {
		stored, err = write(ctx, store, func(tx WriteTx) (Environment, error) {
			if stored, err := tx.Environment(); err != nil || stored != "" {
				return stored, err
			}
			first := wanted
			if first == "" {
				first = Production
			}
			return first, tx.SetEnvironment(first)
		})
	}
	if err != nil {
		return "", err
	}
	if wanted != "" && wanted != stored {
		return "", fmt.Errorf("the database belongs to the %s environment, not to %s", stored, wanted)
	}
	return stored, nil
}

// Environment is the deployment that this shop belongs to.
func (s *Service) Environment() Environment { return s.environment }

// Ready returns an error where the store cannot be asked.
func (s *Service) Ready(ctx context.Context) error {
	return s.store.Read(ctx, func(tx ReadTx) error {
		_, err := tx.Environment()
		return err
	})
}

// Work does what has to be done from time to time, until the context ends. What could not be done is reported and tried
// again.
func (s *Service) Work(ctx context.Context, report func(error)) {
	ticker := time.NewTicker(usesInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
		if err := s.SaveUses(context.WithoutCancel(ctx)); err != nil {
			report(err)
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// now is the time as it is stored: in UTC, to the microsecond.
func (s *Service) now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
