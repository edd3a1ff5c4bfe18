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

// databaseFlags are the flags of commands that open the database themselves. A service may be running on it.
type databaseFlags struct {
	Database    string `env:"ANIMALSTORE_DATABASE" default:"animalstore.db" placeholder:"DATABASE" help:"Database: a file or a postgres:// URL (default ${default})."`
	Environment string `env:"ANIMALSTORE_ENVIRONMENT" default:"" enum:",production,staging" placeholder:"NAME" help:"production or staging (default: that of the database; production for a new one)."`
}

// withService opens the database and calls fn. It fails if the database does not exist, unless create is set.
func (o databaseFlags) withService(ctx context.Context, create bool, fn func(*shop.Service) error) error {
	if err := checkDatabase(o.Database, databaseVariable); err != nil {
		return usagef("--database: %w", err)
	}
	store, err := sqlstore.Open(ctx, o.Database, sqlstore.Options{Existing: !create})
	if err != nil {
		return err
	}
	defer store.Close() // everything committed is durable already
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

// databaseVariable is the environment variable for --database.
const databaseVariable = "ANIMALSTORE_DATABASE"

// checkDatabase checks the value of a flag that can also be set by an environment variable.
func checkDatabase(database, variable string) error {
	switch {
	case database == "":
		return fmt.Errorf("the file name is missing")
	case sqlstore.IsURL(database):
		return checkServer(database, variable)
	case strings.Contains(database, "://"), strings.HasPrefix(database, "file:"), strings.HasPrefix(database, ":"),
		serverForm.MatchString(database):
		return fmt.Errorf("expected the path of a file or a postgres:// URL") // the value may contain a password: do not print it
	}
	return nil
}

// serverForm matches values that are meant to be a server, but are not a URL: key=value settings, or a
// misspelled URL.
var serverForm = regexp.MustCompile(`(?i)^\s*postgres(ql)?:|\b(host|dbname|password)\s*=`)

// checkServer checks the URL of a server. It refuses a password in a flag, because the process list shows
// flags.
func checkServer(database, variable string) error {
	if strings.Contains(database, "#") { // often part of a password, the rest of which would be printed
		return errors.New("everything after # would be ignored; write # as %23 in the URL")
	}
	if err := sqlstore.CheckURL(database); err != nil {
		return err
	}
	if hasPassword(database) && os.Getenv(variable) != database {
		return fmt.Errorf("put a URL with a password into the environment variable %s: other users can see flags", variable)
	}
	return nil
}

// hasPassword reports whether a URL has a password, in its userinfo or in its query.
func hasPassword(database string) bool {
	return userinfoPassword.MatchString(database) || queryPassword.MatchString(database)
}

// redact returns a database that is safe to print. It drops the whole query, because part of a password may
// have ended up there.
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
