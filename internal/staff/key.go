package staff

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"animalstore/internal/shop"
)

// peoplePage is the template data for the list of the people and programs that have access. Each of them has a key.
type peoplePage struct {
	Page     shop.Page[shop.Key]
	NextFrom int64 // the id of the last row if there is a next page, else 0
	Issued   *shop.IssuedKey
	Rotated  bool
	Name     string // the rejected name, shown again in the form
	Role     string // the selected role, or "custom"
	Selected map[shop.Scope]bool
	Problem  string
}

// customRole is the value of the form field "role" for a key whose scopes are chosen one by one.
const customRole = "custom"

// roleChoice is a role with the texts that describe it to users.
type roleChoice struct {
	Value, Label, Hint string
	Person             bool // whether the role is for a person, who signs in with a link and needs no secret
	Scopes             []shop.Scope
}

// roleChoices returns the roles that a person or program can have, those for people first.
func roleChoices() []roleChoice {
	choices := []roleChoice{
		{Value: string(shop.RoleStaff), Label: "Staff", Hint: "Works here: animals, orders, customers and their history.", Person: true},
		{Value: string(shop.RoleAdmin), Label: "Owner", Hint: "Does everything, also people, settings and webhooks.", Person: true},
		{Value: string(shop.RolePartnerRead), Label: "Website (reads)", Hint: "A program that shows the animals and changes nothing."},
		{Value: string(shop.RolePartnerOrder), Label: "Partner (reads and orders)", Hint: "A program that shows the animals and places orders."},
	}
	for i := range choices {
		choices[i].Scopes = shop.Role(choices[i].Value).Scopes()
	}
	return choices
}

// roleOf returns the role that has exactly these scopes, or a role without a label if there is none.
func roleOf(scopes []shop.Scope) roleChoice {
	role := shop.RoleOf(scopes)
	for _, choice := range roleChoices() {
		if choice.Value == string(role) {
			return choice
		}
	}
	return roleChoice{}
}

// scopeLabel describes a scope to users.
func scopeLabel(scope shop.Scope) string {
	return map[shop.Scope]string{
		shop.PetsRead: "See animals", shop.PetsWrite: "Change animals and categories", shop.OrdersRead: "See orders", shop.OrdersWrite: "Place and change orders",
		shop.EventsRead: "See the activity", shop.Customers: "See and erase customers", shop.Admin: "Everything",
	}[scope]
}

// configuredName is the name of the key in the configuration, which the API calls "configured".
const configuredName = "Configured key"

// personName returns the name that the pages show for a key.
func personName(id int64, name string) string {
	if id == 0 {
		return configuredName
	}
	return name
}

// explainAccess says in the words of the page why a key cannot be changed.
func explainAccess(err error) error {
	if err == nil {
		return nil
	}
	switch code := shop.AsError(err).Code; code {
	case shop.NotFound:
		return shop.Errorf(code, "This person or program no longer has access.")
	case shop.LastAdminKey:
		return shop.Errorf(code, "This is the only owner. Make somebody else an owner first.")
	}
	return err
}

func (p *Pages) people(x *exchange) error { return x.showPeople(http.StatusOK, peoplePage{}) }

func (x *exchange) showPeople(status int, page peoplePage) (err error) {
	if page.Page, err = x.Service.ListKeys(x.r.Context(), x.pageRequest()); err != nil {
		return err
	}
	if items := page.Page.Items; page.Page.More {
		page.NextFrom = items[len(items)-1].ID
	}
	if page.Role == "" {
		page.Role = string(shop.RoleStaff)
	}
	return x.show(status, "people", "People", page)
}

// showAccessError shows the list of people with the error message if the user can act on the error. It returns any other
// error.
func (x *exchange) showAccessError(page peoplePage, err error) error {
	return showProblem(explainAccess(err), func(problem string) error {
		page.Problem = problem
		return x.showPeople(statusOf(shop.AsError(err).Code), page)
	})
}

func (p *Pages) addPerson(x *exchange) error {
	request := shop.NewKey{Name: strings.TrimSpace(x.field("name"))}
	page := peoplePage{Name: request.Name, Role: x.field("role"), Selected: map[shop.Scope]bool{}}
	for _, scope := range x.r.PostForm["scope"] {
		request.Scopes = append(request.Scopes, shop.Scope(scope))
		page.Selected[shop.Scope(scope)] = true
	}
	if page.Role != customRole { // without scripts, the boxes may be ticked although a role is selected
		request.Scopes = shop.Role(page.Role).Scopes()
	}
	if len(request.Scopes) == 0 {
		return x.showAccessError(page, shop.Errorf(shop.ValidationFailed, "Select a role, or at least one permission."))
	}
	if text := x.field("expires"); text != "" {
		day, err := shop.ParseDate(text)
		if err != nil {
			return x.showAccessError(page, shop.Errorf(shop.ValidationFailed, "The day must look like 2030-12-31."))
		}
		_, request.ExpiresAt = p.Service.DayBounds(day) // the key stays valid until the end of that day
	}
	var issued shop.IssuedKey
	key, err := onceKeeping(x, "", func(issued shop.IssuedKey) shop.Key { return issued.Key }, func(by shop.Caller) (_ shop.IssuedKey, err error) {
		issued, err = p.Service.CreateKey(x.r.Context(), by, request)
		return issued, err
	})
	switch {
	case err != nil:
		return x.showAccessError(page, err)
	case roleOf(request.Scopes).Person:
		return x.linkForNewPerson(key)
	case issued.Secret == "": // the form was sent before
		return x.showPeople(http.StatusOK, peoplePage{Problem: fmt.Sprintf(secretLost, key.Name)})
	}
	return x.showPeople(http.StatusOK, peoplePage{Issued: &issued})
}

// secretLost is the message after the response with a new secret was lost. The secret is not stored.
const secretLost = "%s was added, but its secret was lost with the answer of the server. Create a new secret for it."

func (p *Pages) rotateKey(x *exchange, id int64) error {
	overlap, err := parseOverlap(x.field("overlap"))
	if err != nil {
		return x.showAccessError(peoplePage{}, err)
	}
	if !x.confirmed() {
		return x.askAboutKey(id, "Make a new secret for %s?", "The old secret stays valid for "+count(int(overlap.Hours()), "hour")+".", "Make new secret")
	}
	issued, err := p.Service.RotateKey(x.r.Context(), x.caller(), id, overlap)
	if err != nil {
		return x.showAccessError(peoplePage{}, err)
	}
	return x.showPeople(http.StatusOK, peoplePage{Issued: &issued, Rotated: true})
}

// parseOverlap parses the number of hours for which the old secret stays valid after a rotation.
func parseOverlap(text string) (time.Duration, error) {
	hours, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, shop.Errorf(shop.ValidationFailed, "Enter how many hours the old secret stays valid, from 0 to %d.", int(shop.MaxOverlap.Hours()))
	}
	return time.Duration(hours) * time.Hour, nil
}

// askAboutKey asks the user to confirm an irreversible action on a key. title contains %s in place of the key's name.
func (x *exchange) askAboutKey(id int64, title, text, button string) error {
	actor := "keys/" + strconv.FormatInt(id, 10)
	names, err := x.Service.KeyNames(x.r.Context(), []string{actor})
	if err != nil {
		return err
	}
	return x.ask(question{
		Title: fmt.Sprintf(title, actorName(actor, names)), Text: text + " This can’t be undone.", Button: button, Danger: true, Back: "/staff/people",
	})
}

func (p *Pages) revokeKey(x *exchange, id int64) error {
	if !x.confirmed() {
		return x.askAboutKey(id, "Remove the access of %s?", "Every device and program that uses it is signed out within a second.", "Remove access")
	}
	if err := p.Service.RevokeKey(x.r.Context(), x.caller(), id); err != nil {
		return x.showAccessError(peoplePage{}, err)
	}
	x.flash("The access was removed.")
	return x.redirect("/staff/people")
}
