package staff

import (
	"html/template"
	"net/http"

	"animalstore/internal/shop"
)

// printedCard is the template data for the card on an animal's cage.
type printedCard struct {
	petDetail
	QR     template.HTML
	Public bool // whether the code leads to the page for the public, and not to that for the staff
}

// printCard shows the most important facts about an animal, for printing. The code on the card leads to the page of the
// animal in the shop window if it is shown there, and otherwise to that for the staff.
func (p *Pages) printCard(x *exchange, id int64) error {
	pet, err := p.Service.PetView(x.r.Context(), id)
	if err != nil {
		return err
	}
	pet.Profile = pet.Profile.ForKey(false) // customers read the card
	page := printedCard{petDetail: petDetail{PetView: pet, Category: categoryName(pet.Category, pet.CategoryID), Today: p.Service.Today()}}
	page.Public = p.Service.CurrentSettings().Window.Enabled && pet.Profile.Published && (pet.Status == shop.Available || pet.Status == shop.Pending)
	path, label := petPath(id), "QR code with the page for the staff"
	if page.Public {
		path, label = windowPath(id), "QR code with the page for everybody"
	}
	if page.QR, err = qrCode(x.baseURL()+path, label); err != nil {
		return err
	}
	return x.show(http.StatusOK, "print-card", pet.Name, page)
}
