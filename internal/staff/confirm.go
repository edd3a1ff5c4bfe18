package staff

import (
	"net/http"
	"net/url"
	"slices"

	"animalstore/internal/shop"
)

// question is the template data for asking the user to confirm an action that cannot be undone.
type question struct {
	Title  string
	Text   string
	Button string // the label of the button that confirms the action
	Danger bool   // whether the action destroys something
	Back   string // the path that Cancel opens
	Target string // the id of the element that htmx replaces with the response
	Swap   string // how htmx replaces it

	Action string     // the path of the action
	Fields url.Values // the fields of the form, which are sent again with the answer
}

// confirmField is the form field that says that the user has confirmed the action.
const confirmField = "confirmed"

// confirmed reports whether the user has confirmed the action. A form that is itself a question, such as a dialog on
// the page, always contains the field.
func (x *exchange) confirmed() bool { return x.field(confirmField) != "" }

// ask responds with a question instead of performing the action of the form. If the user agrees, the browser sends
// the same form again with confirmField. With scripts, the question is a dialog on the current page; without scripts,
// it is a page of its own.
func (x *exchange) ask(q question) error {
	q.Action, q.Fields = x.r.URL.Path, x.r.PostForm
	if !x.partial() {
		return x.show(http.StatusOK, "confirm", q.Title, q)
	}
	if q.Target == "" {
		q.Target, q.Swap = x.r.Header.Get("HX-Target"), "outerHTML"
	}
	x.w.Header().Set("HX-Retarget", "#question")
	x.w.Header().Set("HX-Reswap", "innerHTML")
	return x.showFragment("question", q)
}

// canGoBack reports whether an animal can be given its former status again after a change of status. If it cannot, the
// pages ask before the change.
func canGoBack(from, to shop.Status) bool { return slices.Contains(to.Transitions(), from) }

// noWayBack returns the reason why an animal cannot be given its former status again after this change of status. It
// returns "" if it can.
func noWayBack(from, to shop.Status) string {
	switch {
	case from == to || canGoBack(from, to):
		return ""
	case from == "":
		return "an animal that has a status always keeps one"
	}
	return "an animal that is " + plainStatus(to) + " can’t become " + plainStatus(from) + " again"
}
