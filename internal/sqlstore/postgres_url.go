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

// CheckURL says what is wrong with the URL of a server, without showing a password.
func CheckURL(url string) error {
	_, _, err := parsePostgresURL(url)
	return err
}

func parsePostgresURL(url string) (*pgx.ConnConfig, poolSettings, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil && strings.Contains(err.Error(), "failed to parse as URL") { // whatever the driver says of it may be a piece of a password
		return nil, poolSettings{}, errors.New("it cannot be read; a URL is postgres://USER:PASSWORD@HOST/DATABASE, and in a password a space is written as %20, a # as %23, a % as %25, a / as %2F and an @ as %40")
	}
	if err != nil {
		return nil, poolSettings{}, withoutURL(err)
	}
	if hasMisplacedAt(config) { // what was taken for a host is the end of a password: it is not shown
		return nil, poolSettings{}, errors.New("there is an @ in the wrong place; a URL is postgres://USER:PASSWORD@HOST/DATABASE, and in a password an @ is written as %40")
	}
	own, err := takePoolSettings(config)
	if err != nil {
		return nil, poolSettings{}, err
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = pgConnectTimeout
	}
	if config.ValidateConnect == nil { // of several servers, only one that can be written is of use
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	validate := config.ValidateConnect
	config.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		err := validate(ctx, conn)
		if err != nil && pgCode(err) == "" && !isBroken(err) { // it was asked, and is not the one that writes
			err = fmt.Errorf("%w: %w", errReadOnly, err)
		}
		return err
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "animalstore"
	}
	return config, own, nil
}

// quotedURLParts are what the driver repeats of a URL that it cannot read. It hides a password only where it finds one, and in such
// a URL it may be anywhere.
var quotedURLParts = regexp.MustCompile("(?s)^(cannot parse )`.*`|\"(?:[^\"\\\\]|\\\\.)*\"")

func withoutURL(err error) error {
	return errors.New(quotedURLParts.ReplaceAllString(err.Error(), "$1…"))
}

// hasMisplacedAt tells whether there is a host, or a database, that cannot be one.
func hasMisplacedAt(config *pgx.ConnConfig) bool {
	return strings.Contains(config.Host, "@") || strings.Contains(config.Database, "@") ||
		slices.ContainsFunc(config.Fallbacks, func(f *pgconn.FallbackConfig) bool { return strings.Contains(f.Host, "@") })
}
