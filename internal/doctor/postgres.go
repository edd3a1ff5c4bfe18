package doctor

import (
	"context"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

// connectTimeout is how long checkServer waits for a server that does not respond.
const connectTimeout = 15 * time.Second

// checkServer connects to a PostgreSQL server and examines it.
func (x *examiner) checkServer(ctx context.Context) {
	connecting, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	c, err := sqlstore.OpenReadOnly(connecting, x.Database)
	if err != nil {
		x.problem("database", "If the server was refused, change what the message names. Otherwise check the address in ANIMALSTORE_DATABASE, "+
			"the server, the network and the role's password.", "%v", err)
		return
	}
	defer c.Close()
	s := postgresServer{x, c}
	version, encoding := s.text(ctx, "SHOW server_version"), s.text(ctx, "SHOW server_encoding")
	var bytes int64
	c.First(ctx, "SELECT pg_database_size(current_database())", &bytes) // stays 0 if the role may not read the size
	x.ok("database", "PostgreSQL %s with the encoding %s; the database has %s", version, encoding, shop.FormatBytes(bytes))
	x.checkSchema(c)
	s.checkDurability(ctx)
	s.checkRole(ctx)
	s.checkLongTransactions(ctx)
	s.checkClock(ctx)
}

// postgresServer is a PostgreSQL server that is being examined.
type postgresServer struct {
	*examiner
	*sqlstore.Conn
}

// text returns the first column of the first row, or "" if the server does not answer the query.
func (s postgresServer) text(ctx context.Context, query string) (value string) {
	if _, err := s.First(ctx, query, &value); err != nil {
		return ""
	}
	return value
}

// checkDurability looks at the settings that decide whether an acknowledged write survives a crash.
func (s postgresServer) checkDurability(ctx context.Context) {
	sound := true
	if s.text(ctx, "SHOW fsync") == "off" {
		sound = false
		s.problem("database", "Set fsync = on in postgresql.conf.", "fsync is off, so a crash of the server's machine can destroy the database")
	}
	if s.text(ctx, "SHOW full_page_writes") == "off" {
		sound = false
		s.warn("database", "Set full_page_writes = on, unless the file system cannot write a page in part.",
			"full_page_writes is off, so a crash of the server's machine can damage pages")
	}
	commit := s.text(ctx, "SHOW synchronous_commit")
	if commit != "on" && commit != "remote_apply" && commit != "" {
		sound = false
		s.warn("database", "Run ALTER ROLE … SET synchronous_commit = on. Behind a connection pooler, the service refuses the server until then.",
			"synchronous_commit is %s for this role; the service's own sessions set it to on", commit)
	}
	if sound {
		s.ok("database", "synchronous_commit is %s, and acknowledged writes survive a crash of the server", commit)
	}
}

// checkRole reports a problem if the server is a standby or refuses writes.
func (s postgresServer) checkRole(ctx context.Context) {
	if s.text(ctx, "SELECT CAST(pg_is_in_recovery() AS TEXT)") == "true" {
		s.problem("database", "Put the primary into the URL, or all servers with target_session_attrs=read-write.",
			"the server is a standby, which cannot be written")
	} else if s.text(ctx, "SHOW default_transaction_read_only") == "on" {
		s.problem("database", "Set default_transaction_read_only = off for the role and the database.", "the server refuses writes")
	}
}

// checkLongTransactions looks for transactions that keep the server from removing old rows.
func (s postgresServer) checkLongTransactions(ctx context.Context) {
	var count int64
	if _, err := s.First(ctx, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND xact_start < now() - interval '1 hour'", &count); err != nil {
		return // other servers that speak PostgreSQL's protocol may lack this view
	}
	if count > 0 {
		s.warn("database", "SELECT pid, xact_start, query FROM pg_stat_activity ORDER BY xact_start shows them; end those that nobody needs.",
			"%d transactions have been open for more than an hour, so tables grow and a migration would wait", count)
	}
}
