package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

// databaseFlags are the flags of commands that work straight on the database, also beside a running service.
type databaseFlags struct {
	Database    string `env:"ANIMALSTORE_DATABASE" default:"animalstore.db" placeholder:"DATABASE" help:"The database: a file or a postgres:// URL (default ${default})."`
	Environment string `env:"ANIMALSTORE_ENVIRONMENT" default:"" enum:",production,staging" placeholder:"NAME" help:"production or staging (default: what the database was made for; production for a new one)."`
}

// withService runs fn on the shop in the database, which must be there unless it may be made.
func (o databaseFlags) withService(ctx context.Context, create bool, fn func(*shop.Service) error) error {
	if err := checkDatabase(o.Database, databaseVariable); err != nil {
		return usagef("--database: %w", err)
	}
	store, err := sqlstore.Open(ctx, o.Database, sqlstore.Options{Existing: !create})
	if err != nil {
		return err
	}
	defer store.Close() // what was written is already durable
	service, err := shop.Open(ctx, store, shop.Options{Environment: shop.Environment(o.Environment)})
	if err != nil {
		return err
	}
	err = fn(service)
	switch e := shop.AsError(err); {
	case err == nil:
		return nil
	case e.Code == shop.NotFound, e.Code == shop.LastAdminKey:
		return fmt.Errorf("%s", e.Message)
	}
	return err
}

// databaseVariable is the variable that names the database of every command.
const databaseVariable = "ANIMALSTORE_DATABASE"

// checkDatabase checks a database that was given by a flag or by its variable.
func checkDatabase(database, variable string) error {
	switch {
	case database == "":
		return fmt.Errorf("the file's name is missing")
	case sqlstore.IsURL(database):
		return checkServer(database, variable)
	case strings.Contains(database, "://"), strings.HasPrefix(database, "file:"), strings.HasPrefix(database, ":"), serverForm.MatchString(database):
		return fmt.Errorf("it must be the path of a file or a postgres:// URL") // what it is may hold a password: it is not shown
	}
	return nil
}

// serverForm finds what is meant to be a server, in a form that we do not take: its settings, or a URL with a slip.
var serverForm = regexp.MustCompile(`(?i)^\s*postgres(ql)?:|\b(host|dbname|password)\s*=`)

// checkServer checks the URL of a server. No password is taken as a flag, where the list of processes shows it.
func checkServer(database, variable string) error {
	if strings.Contains(database, "#") { // often of a password, the rest of which would be shown
		return errors.New("what stands behind a # is not read; write each # in the URL as %23")
	}
	if err := sqlstore.CheckURL(database); err != nil {
		return err
	}
	if hasPassword(database) && os.Getenv(variable) != database {
		return fmt.Errorf("a URL with a password belongs into the variable %s, which others cannot see", variable)
	}
	return nil
}

// hasPassword tells whether there is a password in a URL that the driver has read: before the host or among the settings.
func hasPassword(database string) bool {
	return userinfoPassword.MatchString(database) || queryPassword.MatchString(database)
}

// redact is a database as it may be shown: without a password, and without settings, one of which may be a piece of one.
func redact(database string) string {
	if !sqlstore.IsURL(database) {
		return database
	}
	server, _, _ := strings.Cut(userinfoPassword.ReplaceAllString(database, "${1}:REDACTED@"), "?")
	return server
}

var (
	userinfoPassword = regexp.MustCompile(`^(postgres(?:ql)?://[^:/@]*):[^/]*@`)
	queryPassword    = regexp.MustCompile(`([?&](?:ssl)?password=)[^&]+`)
)
