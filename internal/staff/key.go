package staff

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"animalstore/internal/shop"
)

// keysPage is the template data for the list of keys.
type keysPage struct {
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
	Scopes             []shop.Scope
}

// roleChoices returns the roles that a new key can have.
func roleChoices() (choices []roleChoice) {
	texts := map[shop.Role][2]string{
		shop.RoleStaff:        {"Staff", "Works in the shop: animals, orders, customers and their history."},
		shop.RolePartnerRead:  {"Partner, read only", "Sees the animals and changes nothing."},
		shop.RolePartnerOrder: {"Partner, orders", "Sees the animals and places orders."},
		shop.RoleAdmin:        {"Admin", "Does everything, and manages keys, devices and webhooks."},
	}
	for _, role := range shop.Roles() {
		choices = append(choices, roleChoice{string(role), texts[role][0], texts[role][1], role.Scopes()})
	}
	return choices
}

// roleLabel returns the name of the role that has exactly these scopes, or "" if there is none.
func roleLabel(scopes []shop.Scope) string {
	role := shop.RoleOf(scopes)
	for _, choice := range roleChoices() {
		if choice.Value == string(role) {
			return choice.Label
		}
	}
	return ""
}

func (p *Pages) keys(x *exchange) error { return x.showKeys(http.StatusOK, keysPage{}) }

func (x *exchange) showKeys(status int, page keysPage) (err error) {
	if page.Page, err = x.Service.ListKeys(x.r.Context(), x.pageRequest()); err != nil {
		return err
	}
	if items := page.Page.Items; page.Page.More {
		page.NextFrom = items[len(items)-1].ID
	}
	if page.Role == "" {
		page.Role = string(shop.RoleStaff)
	}
	return x.show(status, "keys", "Keys", page)
}

// showKeyError shows the list of keys with the error message if the user can act on the error. It returns any other
// error.
func (x *exchange) showKeyError(page keysPage, err error) error {
	return showProblem(err, func(problem string) error {
		page.Problem = problem
		return x.showKeys(statusOf(shop.AsError(err).Code), page)
	})
}

func (p *Pages) addKey(x *exchange) error {
	request := shop.NewKey{Name: strings.TrimSpace(x.field("name"))}
	page := keysPage{Name: request.Name, Role: x.field("role"), Selected: map[shop.Scope]bool{}}
	for _, scope := range x.r.PostForm["scope"] {
		request.Scopes = append(request.Scopes, shop.Scope(scope))
		page.Selected[shop.Scope(scope)] = true
	}
	if page.Role != customRole { // without scripts, the boxes may be ticked although a role is selected
		request.Scopes = shop.Role(page.Role).Scopes()
	}
	if text := x.field("expires"); text != "" {
		day, err := shop.ParseDate(text)
		if err != nil {
			return x.showKeyError(page, shop.Errorf(shop.ValidationFailed, "The expiry date must look like 2030-12-31."))
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
		return x.showKeyError(page, err)
	case issued.Secret == "": // the form was sent before
		return x.showKeys(http.StatusOK, keysPage{Problem: fmt.Sprintf(secretLost, key.Name)})
	}
	return x.showKeys(http.StatusOK, keysPage{Issued: &issued})
}

// secretLost is the message after the response with a new secret was lost. The secret is not stored.
const secretLost = "%s was created, but its secret was lost with the answer of the server. Create a new secret for it."

func (p *Pages) rotateKey(x *exchange, id int64) error {
	overlap, err := parseOverlap(x.field("overlap"))
	if err != nil {
		return x.showKeyError(keysPage{}, err)
	}
	if !x.confirmed() {
		return x.askAboutKey(id, "Create a new secret for %s?", "The old secret stays valid for "+count(int(overlap.Hours()), "hour")+".", "Create new secret")
	}
	issued, err := p.Service.RotateKey(x.r.Context(), x.caller(), id, overlap)
	if err != nil {
		return x.showKeyError(keysPage{}, err)
	}
	return x.showKeys(http.StatusOK, keysPage{Issued: &issued, Rotated: true})
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
		Title: fmt.Sprintf(title, actorName(actor, names)), Text: text + " This can’t be undone.", Button: button, Danger: true, Back: "/staff/keys",
	})
}

func (p *Pages) revokeKey(x *exchange, id int64) error {
	if !x.confirmed() {
		return x.askAboutKey(id, "Revoke %s?", "Requests with this key will be refused within a second.", "Revoke")
	}
	if err := p.Service.RevokeKey(x.r.Context(), x.caller(), id); err != nil {
		return x.showKeyError(keysPage{}, err)
	}
	return x.redirect("/staff/keys")
}
