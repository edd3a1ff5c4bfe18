package postgres

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

// CheckURL returns an error if url is not a valid URL for a PostgreSQL server. The error never contains a
// password.
func CheckURL(url string) error {
	_, _, err := parseURL(url)
	return err
}

const urlForm = "the form is postgres://USER:PASSWORD@HOST/DATABASE"

// parseURL returns the configuration for connections to the server at url and the settings for their
// pool. If the URL lists several hosts, a connection uses the first host that accepts writes, unless the URL
// sets target_session_attrs. Every connection checks that its server is suitable.
func parseURL(url string) (*pgx.ConnConfig, poolSettings, error) {
	config, err := pgx.ParseConfig(url)
	// If pgx cannot parse the URL, its error may contain part of the password.
	if err != nil && strings.Contains(err.Error(), "failed to parse as URL") {
		return nil, poolSettings{}, errors.New("invalid URL; " + urlForm +
			"; in a password, write a space as %20, # as %23, % as %25, / as %2F and @ as %40")
	}
	if err != nil {
		return nil, poolSettings{}, withoutURL(err)
	}
	// If an @ is misplaced, the apparent host is the end of a password, so the error must not contain it.
	if hasMisplacedAt(config) {
		return nil, poolSettings{}, errors.New("misplaced @ in the URL; " + urlForm + "; in a password, write @ as %40")
	}
	settings, err := takePoolSettings(config)
	if err != nil {
		return nil, poolSettings{}, err
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	if config.ValidateConnect == nil {
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	validate := config.ValidateConnect
	config.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if err := checkServer(conn); err != nil {
			return err
		}
		err := validate(ctx, conn)
		// If there was neither a server error nor a network error, the server is reachable but is not the
		// primary.
		if err != nil && pgCode(err) == "" && !isBroken(err) {
			err = fmt.Errorf("%w: %w", errReadOnly, err)
		}
		if err != nil {
			return err
		}
		return requireDurableCommits(ctx, conn)
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "animalstore"
	}
	return config, settings, nil
}

// quotedURLParts matches the parts of an invalid URL that pgx quotes in an error message. pgx quotes either
// the whole URL or a single value. It masks the password only if it recognizes the password, which can be
// anywhere in an invalid URL.
var quotedURLParts = regexp.MustCompile("(?s)^(cannot parse )`.*`|\"(?:[^\"\\\\]|\\\\.)*\"")

// withoutURL removes the quoted parts of the URL from an error returned by pgx.
func withoutURL(err error) error {
	return errors.New(quotedURLParts.ReplaceAllString(err.Error(), "$1…"))
}

// hasMisplacedAt reports whether a host or the name of the database contains an @. This happens if the
// password contains an unescaped @.
func hasMisplacedAt(config *pgx.ConnConfig) bool {
	return strings.Contains(config.Host, "@") || strings.Contains(config.Database, "@") ||
		slices.ContainsFunc(config.Fallbacks, func(f *pgconn.FallbackConfig) bool { return strings.Contains(f.Host, "@") })
}
