package staff

import (
	"net/http"
	"net/url"

	"animalstore/internal/shop"
)

// question is the template data for asking the user before an action that cannot be undone.
type question struct {
	Title  string
	Text   string
	Button string // what the button says that does it
	Danger bool   // whether something is lost
	Back   string // the path to which Cancel leads
	Target string // the id of the element that htmx replaces with the response
	Swap   string // how htmx replaces it

	Action string     // the path of the action
	Fields url.Values // the form, which is sent again with the answer
}

// confirmField is the form field that says that the user has been asked.
const confirmField = "confirmed"

// confirmed reports whether the user has been asked. A form that asks by itself, such as a dialog on the page,
// contains the field, too.
func (x *exchange) confirmed() bool { return x.field(confirmField) != "" }

// ask responds with a question instead of doing what the form says. If the user agrees, the same form is sent again.
// With scripts, the question is a dialog on the page, otherwise a page.
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

// noWayBack says why an animal cannot be given its former status again. It returns "" if it can.
func noWayBack(from, to shop.Status) string {
	switch {
	case from == to || canGoBack(from, to):
		return ""
	case from == "":
		return "an animal that has a status always keeps one"
	}
	return "an animal that is " + string(to) + " can’t become " + string(from) + " again"
}
