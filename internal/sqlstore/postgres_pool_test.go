package sqlstore

import (
	"strings"
	"testing"
	"time"
)

func TestPoolSettingsComeFromTheURL(t *testing.T) {
	t.Parallel()
	const server = "postgres://animalstore@db.example.com/animalstore?sslmode=disable"
	for query, want := range map[string]poolSettings{
		"":                  {pgMaxConns, 5 * time.Minute, time.Hour},
		"&pool_max_conns=3": {3, 5 * time.Minute, time.Hour},
		"&pool_max_conn_idle_time=10s&pool_max_conn_lifetime=90m": {pgMaxConns, 10 * time.Second, 90 * time.Minute},
	} {
		config, got, err := parsePostgresURL(server + query)
		if err != nil || got != want {
			t.Errorf("%s: %+v %v, want %+v", query, got, err, want)
			continue
		}
		for name := range config.RuntimeParams {
			if strings.HasPrefix(name, "pool_") {
				t.Errorf("%s: the parameter %s would be sent to the server", query, name)
			}
		}
	}
	for _, query := range []string{"&pool_max_conns=0", "&pool_max_conns=x", "&pool_max_conn_idle_time=5", "&pool_max_conn_lifetime=-1s"} {
		if err := CheckURL(server + query); err == nil || !strings.Contains(err.Error(), "pool_max_conn") {
			t.Errorf("%s: %v", query, err)
		}
	}
	store := open(t, newDatabase(t)+"&pool_max_conns=2", Options{})
	if n := postgresOf(store).pool.Stat().MaxConns(); n != 2 {
		t.Errorf("the pool has up to %d connections, want 2", n)
	}
}
