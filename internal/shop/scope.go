package shop

// Scope is a permission that can be granted to a key.
type Scope string

const (
	PetsRead    Scope = "pets:read"
	PetsWrite   Scope = "pets:write"
	OrdersRead  Scope = "orders:read"
	OrdersWrite Scope = "orders:write"
	EventsRead  Scope = "events:read"
	Customers   Scope = "customers" // see, search and erase the customers of orders
	Admin       Scope = "admin"
)

// Scopes returns all scopes in the order in which they are documented.
func Scopes() []Scope {
	return []Scope{PetsRead, PetsWrite, OrdersRead, OrdersWrite, EventsRead, Customers, Admin}
}

// ScopesText formats scopes as a comma-separated list for people to read.
func ScopesText(scopes []Scope) string { return joinWords(scopes, ", ") }
