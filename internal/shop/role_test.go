package shop_test

import (
	"testing"

	"animalstore/internal/shop"
)

// A role is recognised by its scopes in any order, and no two roles have the same scopes.
func TestRolesAreSetsOfScopes(t *testing.T) {
	t.Parallel()
	for _, role := range shop.Roles() {
		scopes := role.Scopes()
		equal(t, "the role", shop.RoleOf(scopes), role)
	}
	equal(t, "other scopes", shop.RoleOf([]shop.Scope{shop.PetsWrite}), "")
	equal(t, "scopes in another order", shop.RoleOf([]shop.Scope{shop.OrdersWrite, shop.PetsRead, shop.OrdersRead}), shop.RolePartnerOrder)
	equal(t, "admin with others", shop.RoleOf(shop.Scopes()), shop.RoleAdmin)
	equal(t, "an unknown role", len(shop.Role("boss").Scopes()), 0)
}
