package doctor

import "animalstore/internal/sqlstore"

// checkSchema reports whether the next start will migrate the schema. The schema cannot be newer than this program,
// because OpenReadOnly would have refused it.
func (x *examiner) checkSchema(c *sqlstore.Conn) {
	steps, err := sqlstore.Migrations(c.Engine)
	switch {
	case err != nil:
		x.problem("database", "This is a bug; please report it.", "%v", err)
	case c.Version < len(steps):
		x.warn("database", "Back up the store, then start the service, which migrates it.",
			"the schema has version %d, and %d migrations are pending", c.Version, len(steps)-c.Version)
	default:
		x.ok("database", "the schema has version %d, and no migration is pending", c.Version)
	}
}
