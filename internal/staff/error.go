package staff

import (
	"errors"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// showError shows an error as a page, or as a message on the current page if htmx sent the request.
func (x *exchange) showError(e *shop.Error) {
	status := statusOf(e.Code)
	if e.Code == shop.InvalidAPIKey && x.route.scope != anyone {
		x.askToSignIn()
		return
	}
	web.SetRetryAfter(x.w.Header(), e)
	if message := userMessage(e); message != "" {
		e = &shop.Error{Code: e.Code, Message: message}
	}
	if x.partial() {
		x.flashProblem(e.Message)
		x.w.Header().Set("HX-Reswap", "none")
		if status < 500 { // browsers log 4xx responses as errors on the console
			status = http.StatusOK
		}
		x.send(status, "text/html; charset=utf-8", nil)
		return
	}
	if err := x.showIn(newFreePage(), status, "error", errorTitle(e.Code), e); err != nil {
		x.send(status, "text/plain; charset=utf-8", []byte(e.Message+"\n"))
	}
}

// errorTitle returns the title of the page that reports an error.
func errorTitle(code shop.Code) string {
	switch code {
	case shop.NotFound, shop.PetNotFound:
		return "Page not found"
	case shop.InsufficientScope:
		return "Not allowed"
	case shop.PreconditionFailed:
		return "Not saved"
	case shop.RateLimited:
		return "Too much at once"
	}
	return "Something went wrong"
}

// statusOf returns the HTTP status for an error page. It is the status that the API uses for the same error,
// except that a form with an invalid field gets 422.
func statusOf(code shop.Code) int {
	if code == shop.ValidationFailed || code == shop.InvalidParameter {
		return http.StatusUnprocessableEntity
	}
	return web.Status[code]
}

// isNotFound reports whether an error says that something does not exist.
func isNotFound(err error) bool { return err != nil && shop.AsError(err).Code == shop.NotFound }

// userMessage returns the message of an error that the user can act on. It uses the words on the page, such
// as "the category" for "categoryId". It returns "" if the service itself has failed, unless the store is full: then
// nothing was changed, and the user needs to know.
func userMessage(err error) string {
	e := shop.AsError(err)
	if errors.Is(err, shop.ErrFull) {
		return e.Message
	}
	if e.Code == shop.Unavailable || e.Code == shop.Internal {
		return ""
	}
	message := strings.TrimPrefix(e.Message, "The body is not valid: ")
	for member, label := range map[string]string{
		"categoryId ": "the category ", "expiresAt ": "the day on which the access ends ", "url ": "the URL ", "reference ": "the note ", "alt ": "what the photo shows ", "holdExpiresAt ": "the end of the hold ", "pickupDate ": "the day of pick-up ", "customer.name ": "the name ", "customer.phone ": "the phone number ", "customer.email ": "the e-mail address ", "price.amount ": "the price ", "price.currency ": "the currency ",
	} {
		if rest, ok := strings.CutPrefix(message, member); ok {
			message = label + rest
		}
	}
	message = strings.ReplaceAll(message, shop.OrderStatusProblem(""), "must be one of "+orderStatusNames())
	switch e.Code {
	// The messages of these errors contain no text from users, so words can be replaced anywhere in them.
	case shop.InvalidTransition, shop.PetHasOpenOrder, shop.PetNotAvailable, shop.UndoNotPossible:
		message = apiWords.ReplaceAllStringFunc(message, func(word string) string { return pageWords[word] })
	}
	return strings.ToUpper(message[:1]) + message[1:]
}

// showProblem calls show with the message of an error that the user can act on. It returns any other error.
func showProblem(err error, show func(problem string) error) error {
	problem := userMessage(err)
	if problem == "" {
		return err
	}
	return show(problem)
}

// explainConflict replaces the message of a precondition_failed error, which means that someone else was faster. It
// returns any other error unchanged.
func explainConflict(err error, format string, args ...any) error {
	if err != nil && shop.AsError(err).Code == shop.PreconditionFailed {
		return shop.Errorf(shop.PreconditionFailed, format, args...)
	}
	return err
}

// pageWords maps words in the API's messages to the words that the pages use.
var pageWords = map[string]string{
	"placed": "reserved", "ordered": "reserved", "delivered": "handed over", "deliver": "hand over", "pending": "reserved", "reference": "note",
}

var apiWords = regexp.MustCompile(`\b(` + strings.Join(slices.Collect(maps.Keys(pageWords)), "|") + `)\b`)
