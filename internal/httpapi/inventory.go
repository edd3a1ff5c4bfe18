package httpapi

import "animalstore/internal/shop"

func (a *API) getInventory(x *exchange) error {
	inventory, err := a.Service.Inventory(x.r.Context())
	if err != nil {
		return err
	}
	body := encode(inventory)
	x.sendResource(shop.EntityTag(body), body)
	return nil
}
