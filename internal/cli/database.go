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
	"animalstore/internal/sqlstore/postgres"
)

// databaseFlags holds the flags for commands that open the database directly. The database may be in use by a
// running service.
type databaseFlags struct {
	Database    string `env:"ANIMALSTORE_DATABASE" default:"animalstore.db" placeholder:"DATABASE" help:"Database: a file or a postgres:// URL (default ${default})."`
	Environment string `env:"ANIMALSTORE_ENVIRONMENT" default:"" enum:",production,staging" placeholder:"NAME" help:"production or staging (default: that of the database; production for a new one)."`
}

// withService opens the database and calls fn. If the database does not exist, withService creates it or, if create is
// false, fails.
func (o databaseFlags) withService(ctx context.Context, create bool, fn func(*shop.Service) error) error {
	if err := checkDatabase(o.Database, databaseVariable); err != nil {
		return usagef("--database: %w", err)
	}
	store, err := sqlstore.Open(ctx, o.Database, sqlstore.Options{Existing: !create})
	if err != nil {
		return err
	}
	defer store.Close() // an error can be ignored, because every committed change is already durable
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

// databaseVariable is the environment variable that sets --database.
const databaseVariable = "ANIMALSTORE_DATABASE"

// checkDatabase checks a database's address. variable is the environment variable that can contain the address instead
// of the flag.
func checkDatabase(database, variable string) error {
	switch {
	case database == "":
		return fmt.Errorf("the file name is missing")
	case sqlstore.IsURL(database):
		return checkServer(database, variable)
	case strings.Contains(database, "://"), strings.HasPrefix(database, "file:"), strings.HasPrefix(database, ":"),
		serverForm.MatchString(database):
		// The message does not contain the value, which may include a password.
		return fmt.Errorf("expected the path of a file or a postgres:// URL")
	}
	return nil
}

// serverForm matches values that are meant to be the address of a server but are not a valid URL, such as
// key=value settings or a misspelled URL.
var serverForm = regexp.MustCompile(`(?i)^\s*postgres(ql)?:|\b(host|dbname|password)\s*=`)

// checkServer checks a server's URL. It refuses a password in a flag, because flags are visible in the
// process list.
func checkServer(database, variable string) error {
	// Passwords often contain a #. The part of the password after the # would be treated as a fragment and could be
	// printed.
	if strings.Contains(database, "#") {
		return errors.New("everything after # would be ignored; write # as %23 in the URL")
	}
	if err := postgres.CheckURL(database); err != nil {
		return err
	}
	if hasPassword(database) && os.Getenv(variable) != database {
		return fmt.Errorf("put a URL with a password into the environment variable %s: other users can see flags", variable)
	}
	return nil
}

// hasPassword reports whether a URL contains a password in its user information or its query.
func hasPassword(database string) bool {
	return userinfoPassword.MatchString(database) || queryPassword.MatchString(database)
}

// redact returns a database's address in a form that is safe to print. It removes the whole query, because
// the query may contain part of a password.
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
