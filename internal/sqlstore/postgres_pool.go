package sqlstore

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// poolSettings is how many connections a node keeps, and for how long. The URL may say so in the words that pgx's own pool has for
// it: pool_max_conns, pool_max_conn_idle_time, pool_max_conn_lifetime.
type poolSettings struct {
	maxConns    int
	maxIdleTime time.Duration
	maxLifetime time.Duration
}

// takePoolSettings takes the pool's settings out of a configuration: a server would not know them.
func takePoolSettings(config *pgx.ConnConfig) (poolSettings, error) {
	p := poolSettings{maxConns: pgMaxConns, maxIdleTime: 5 * time.Minute, maxLifetime: time.Hour}
	take := func(name string, read func(string) error) error {
		text, given := config.RuntimeParams[name]
		delete(config.RuntimeParams, name)
		if !given {
			return nil
		}
		if err := read(text); err != nil {
			return fmt.Errorf("%s: %q %w", name, text, err)
		}
		return nil
	}
	if err := take("pool_max_conns", func(text string) (err error) {
		if p.maxConns, err = strconv.Atoi(text); err != nil || p.maxConns < 1 || p.maxConns > math.MaxInt32 {
			return fmt.Errorf("is no number from 1 on")
		}
		return nil
	}); err != nil {
		return poolSettings{}, err
	}
	for name, setting := range map[string]*time.Duration{"pool_max_conn_idle_time": &p.maxIdleTime, "pool_max_conn_lifetime": &p.maxLifetime} {
		if err := take(name, func(text string) (err error) {
			if *setting, err = time.ParseDuration(text); err != nil || *setting <= 0 {
				return fmt.Errorf("is no duration such as 30m")
			}
			return nil
		}); err != nil {
			return poolSettings{}, err
		}
	}
	return p, nil
}

// newPool opens no connection yet. The pool does not look at its connections when it hands them out: acquire does.
func (p *postgresEngine) newPool(config *pgx.ConnConfig, of poolSettings) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(config.ConnString()) // a pool takes no other configuration; all that counts is replaced
	if err != nil {
		return nil, err
	}
	c.ConnConfig, c.MaxConns, c.MinConns, c.MinIdleConns = config, int32(of.maxConns), 0, 0
	c.MaxConnIdleTime, c.MaxConnLifetime, c.MaxConnLifetimeJitter = of.maxIdleTime, of.maxLifetime, 0
	c.HealthCheckPeriod = max(time.Second, min(of.maxIdleTime, of.maxLifetime)/30) // so much later an idle connection is closed
	c.BeforeConnect = p.trackConn
	c.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	return pgxpool.NewWithConfig(context.Background(), c)
}
