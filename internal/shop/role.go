package shop

import (
	"slices"
)

// Role is a set of scopes for one kind of user. A key stores only its scopes, not its role.
type Role string

const (
	RoleStaff        Role = "staff"
	RolePartnerRead  Role = "partner-read"
	RolePartnerOrder Role = "partner-order"
	RoleAdmin        Role = "admin"
)

// Roles returns all roles, the most common first.
func Roles() []Role { return []Role{RoleStaff, RolePartnerRead, RolePartnerOrder, RoleAdmin} }

// Scopes returns the scopes of a role, or nil if there is no such role.
func (r Role) Scopes() []Scope {
	switch r {
	case RoleStaff:
		return []Scope{PetsRead, PetsWrite, OrdersRead, OrdersWrite, EventsRead, Customers}
	case RolePartnerRead:
		return []Scope{PetsRead}
	case RolePartnerOrder:
		return []Scope{PetsRead, OrdersRead, OrdersWrite}
	case RoleAdmin:
		return []Scope{Admin}
	}
	return nil
}

// RoleOf returns the role that has exactly these scopes, or "" if there is none. The scope admin includes all
// others.
func RoleOf(scopes []Scope) Role {
	if slices.Contains(scopes, Admin) {
		return RoleAdmin
	}
	for _, role := range Roles() {
		own := role.Scopes()
		if len(own) == len(scopes) && !slices.ContainsFunc(own, func(s Scope) bool { return !slices.Contains(scopes, s) }) {
			return role
		}
	}
	return ""
}

// RolesText formats roles as a comma-separated list for people to read.
func RolesText(roles []Role) string { return joinWords(roles, ", ") }
