package sqlstore

import (
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// pool is how many connections a node keeps, and for how long. The URL may say so in the words that pgx's own pool has for
// it: pool_max_conns, pool_max_conn_idle_time, pool_max_conn_lifetime.
type pool struct {
	most     int
	idle     time.Duration
	lifetime time.Duration
}

// poolOf takes the pool's settings out of a configuration: a server would not know them.
func poolOf(config *pgx.ConnConfig) (pool, error) {
	p := pool{most: pgConnections, idle: 5 * time.Minute, lifetime: time.Hour}
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
		if p.most, err = strconv.Atoi(text); err != nil || p.most < 1 {
			return fmt.Errorf("is no number from 1 on")
		}
		return nil
	}); err != nil {
		return pool{}, err
	}
	for name, setting := range map[string]*time.Duration{"pool_max_conn_idle_time": &p.idle, "pool_max_conn_lifetime": &p.lifetime} {
		if err := take(name, func(text string) (err error) {
			if *setting, err = time.ParseDuration(text); err != nil || *setting <= 0 {
				return fmt.Errorf("is no duration such as 30m")
			}
			return nil
		}); err != nil {
			return pool{}, err
		}
	}
	return p, nil
}

func (p pool) apply(db *sql.DB) {
	db.SetMaxOpenConns(p.most)
	db.SetMaxIdleConns(p.most)
	db.SetConnMaxIdleTime(p.idle)
	db.SetConnMaxLifetime(p.lifetime)
}
