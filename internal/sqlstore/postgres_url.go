package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// CheckURL returns an error if url is not the URL of a PostgreSQL server. The error never shows a password.
func CheckURL(url string) error {
	_, _, err := parsePostgresURL(url)
	return err
}

const urlForm = "the form is postgres://USER:PASSWORD@HOST/DATABASE"

// parsePostgresURL returns the configuration of connections to the server at url, and that of their pool.
// Of several hosts in the URL, a connection takes the first that accepts writes, unless the URL sets
// target_session_attrs.
func parsePostgresURL(url string) (*pgx.ConnConfig, poolSettings, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil && strings.Contains(err.Error(), "failed to parse as URL") { // the rest of err may be a part of the password
		return nil, poolSettings{}, errors.New("invalid URL; " + urlForm +
			"; in a password, write a space as %20, # as %23, % as %25, / as %2F and @ as %40")
	}
	if err != nil {
		return nil, poolSettings{}, withoutURL(err)
	}
	if hasMisplacedAt(config) { // the "host" is the end of a password: do not show it
		return nil, poolSettings{}, errors.New("misplaced @ in the URL; " + urlForm + "; in a password, write @ as %40")
	}
	settings, err := takePoolSettings(config)
	if err != nil {
		return nil, poolSettings{}, err
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = pgConnectTimeout
	}
	if config.ValidateConnect == nil {
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	validate := config.ValidateConnect
	config.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		err := validate(ctx, conn)
		if err != nil && pgCode(err) == "" && !isBroken(err) { // the server responded, and is not the primary
			err = fmt.Errorf("%w: %w", errReadOnly, err)
		}
		return err
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "animalstore"
	}
	return config, settings, nil
}

// quotedURLParts matches what pgx quotes of a URL that it cannot parse: all of it, or a value. pgx masks
// the password only where it recognizes it, and in an invalid URL it can be anywhere.
var quotedURLParts = regexp.MustCompile("(?s)^(cannot parse )`.*`|\"(?:[^\"\\\\]|\\\\.)*\"")

// withoutURL returns an error of pgx without the parts of the URL that it quotes.
func withoutURL(err error) error {
	return errors.New(quotedURLParts.ReplaceAllString(err.Error(), "$1…"))
}

// hasMisplacedAt reports whether a host or the database contains an @, which happens if a password has an
// unescaped @.
func hasMisplacedAt(config *pgx.ConnConfig) bool {
	return strings.Contains(config.Host, "@") || strings.Contains(config.Database, "@") ||
		slices.ContainsFunc(config.Fallbacks, func(f *pgconn.FallbackConfig) bool { return strings.Contains(f.Host, "@") })
}
