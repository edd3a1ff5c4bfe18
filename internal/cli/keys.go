package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

type keysCommands struct {
	Create keysCreate `cmd:"" help:"Make a key and print it; it cannot be shown again."`
}

// onDatabase are the flags of commands that work straight on the database, also beside a running service.
type onDatabase struct {
	Database    string `env:"ANIMALSTORE_DATABASE" default:"animalstore.db" placeholder:"FILE" help:"The database's file; it is made where there is none (default ${default})."`
	Environment string `env:"ANIMALSTORE_ENVIRONMENT" default:"" enum:",production,staging" placeholder:"NAME" help:"production or staging (default: what the database was made for; production for a new one)."`
}

// withService runs fn on the shop in the database.
func (o onDatabase) withService(ctx context.Context, fn func(*shop.Service) error) error {
	if err := checkDatabase(o.Database); err != nil {
		return usagef("--database: %w", err)
	}
	store, err := sqlstore.Open(ctx, o.Database, sqlstore.Options{})
	if err != nil {
		return err
	}
	defer store.Close() // what was written is already durable
	service, err := shop.Open(ctx, store, shop.Options{Environment: shop.Environment(o.Environment)})
	if err != nil {
		return err
	}
	return fn(service)
}

type keysCreate struct {
	onDatabase
	Name    string   `required:"" placeholder:"NAME" help:"What to call the key: who will use it."`
	Scope   []string `placeholder:"SCOPE" default:"admin" help:"What it may do: pets:read, pets:write, orders:read, orders:write, events:read, admin (default ${default})."`
	Expires string   `placeholder:"TIME" help:"When it stops working, as 2027-01-31 or 2027-01-31T18:00:00Z (default: never)."`
}

// Run prints the new secret alone to the output, so that scripts can take it.
func (k *keysCreate) Run(ctx context.Context, t terminal) error {
	expires, err := parseTime(k.Expires)
	if err != nil {
		return usagef("--expires: %w", err)
	}
	scopes := make([]shop.Scope, len(k.Scope))
	for i, scope := range k.Scope {
		scopes[i] = shop.Scope(scope)
	}
	return k.withService(ctx, func(service *shop.Service) error {
		key, secret, err := service.CreateKey(ctx, shop.NewKey{Name: k.Name, Scopes: scopes, Expires: expires})
		if e := shop.AsError(err); err != nil && e.Code == shop.ValidationFailed {
			return usagef("%s", e.Message)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(t.err, "Made key %d (%s) for the %s environment, with %s. It is shown only now.\n",
			key.ID, key.Name, service.Environment(), strings.Join(k.Scope, ", "))
		_, err = fmt.Fprintln(t.out, secret)
		return err
	})
}

// parseTime reads a time or a date, which begins at midnight UTC; empty is the zero time.
func parseTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time such as 2027-01-31 or 2027-01-31T18:00:00Z", text)
}
