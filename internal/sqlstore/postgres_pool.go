package sqlstore

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// poolSettings limits how many connections a node keeps open and for how long. The URL may set the limits
// with the parameters that pgxpool defines: pool_max_conns, pool_max_conn_idle_time and
// pool_max_conn_lifetime.
type poolSettings struct {
	maxConns    int32
	maxIdleTime time.Duration
	maxLifetime time.Duration
}

// takePoolSettings returns the pool settings from the parameters in config, with defaults for missing
// parameters. It removes these parameters from config, because the server would reject them. It returns an
// error if a value is invalid or not positive.
func takePoolSettings(config *pgx.ConnConfig) (settings poolSettings, err error) {
	settings = poolSettings{maxConns: pgMaxConns, maxIdleTime: 5 * time.Minute, maxLifetime: time.Hour}
	take := func(name string) (text string, given bool) {
		text, given = config.RuntimeParams[name]
		delete(config.RuntimeParams, name)
		return text, given
	}
	if text, given := take("pool_max_conns"); given {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 1 {
			return settings, fmt.Errorf("pool_max_conns: %q is not a whole number of at least 1", text)
		}
		settings.maxConns = int32(n)
	}
	for name, setting := range map[string]*time.Duration{
		"pool_max_conn_idle_time": &settings.maxIdleTime,
		"pool_max_conn_lifetime":  &settings.maxLifetime,
	} {
		text, given := take(name)
		if !given {
			continue
		}
		if *setting, err = time.ParseDuration(text); err != nil || *setting <= 0 {
			return settings, fmt.Errorf("%s: %q is not a duration such as 30m", name, text)
		}
	}
	return settings, nil
}

// newPool returns a pool that has no connections yet. The pool does not ping idle connections, because
// acquire decides whether a connection is usable.
func (p *postgresEngine) newPool(settings poolSettings) (*pgxpool.Pool, error) {
	// pgxpool accepts only a configuration that it has parsed itself. All fields that matter are replaced
	// below.
	config, err := pgxpool.ParseConfig(p.config.ConnString())
	if err != nil {
		return nil, withoutURL(err)
	}
	config.ConnConfig, config.MaxConns, config.MinConns, config.MinIdleConns = p.config, settings.maxConns, 0, 0
	config.MaxConnIdleTime, config.MaxConnLifetime, config.MaxConnLifetimeJitter = settings.maxIdleTime, settings.maxLifetime, 0
	// Health checks must be frequent compared to these limits, because only they close expired connections.
	config.HealthCheckPeriod = max(time.Second, min(settings.maxIdleTime, settings.maxLifetime)/30)
	config.BeforeConnect = p.trackConn
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	return pgxpool.NewWithConfig(context.Background(), config)
}
