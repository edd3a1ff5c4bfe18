package staff

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// exchange is one HTTP request from a browser, together with its response.
type exchange struct {
	*Pages
	w         *web.Recorder
	r         *http.Request
	route     route
	id        string
	token     string // the value of the session cookie
	principal shop.Principal
	liveFrom  int64    // the position in the event feed before the page was rendered
	held      []func() // functions that release the limits towards which the exchange counts
	triggers  map[string]any
	message   *message // what the page will tell the user, or nil
	streamed  bool     // whether the response is a stream, whose duration is not measured
}

// acquireSlot counts the exchange as a request in progress until it sends its response. It does nothing if the exchange
// already counts. It fails with rate_limited if the user's key has too many requests in progress, and with unavailable
// if all users together have too many.
func (x *exchange) acquireSlot() error {
	if len(x.held) > 0 {
		return nil
	}
	slots := x.slots
	if x.principal.Actor() == "" {
		slots = x.publicSlots
	}
	err := x.acquire(slots)
	if err != nil && shop.AsError(err).Code == shop.RateLimited {
		return errKeyBusy()
	}
	if err != nil {
		return errBusy()
	}
	return nil
}

// acquire counts the exchange towards a limit until it sends its response.
func (x *exchange) acquire(limit *web.KeyLimit) error {
	release, err := limit.Acquire(x.principal)
	if err == nil {
		x.held = append(x.held, release)
	}
	return err
}

// awaitTurn waits until it is the key's turn. The turn ends when the exchange sends its response.
func (x *exchange) awaitTurn(turns *web.KeyTurns) error {
	done, err := turns.Wait(x.r.Context(), x.principal)
	if err == nil {
		x.held = append(x.held, done)
	}
	return err
}

// releaseLimits stops counting the exchange towards the limits that acquire was called with, and ends its turns.
func (x *exchange) releaseLimits() {
	for _, release := range x.held {
		release()
	}
	x.held = nil
}

const (
	// maxFormBytes is the maximum size of a form, and maxPublicFormBytes the maximum for a user who is not
	// signed in. formTimeout is how long a browser may take to send the form.
	maxFormBytes       = 64 << 10
	maxPublicFormBytes = 4 << 10
	// maxFieldBytes is the maximum size of one field. It is low, because pages, headers and messages repeat fields, and
	// in them a character may need six bytes.
	maxFieldBytes = 4 << 10
	formTimeout   = 30 * time.Second
)

// readForm reads the whole body, whatever its type, and parses it as a form. If it left a part of the body
// unread, net/http would wait for the rest without a deadline. The caller must call release when the form is no
// longer used.
func (x *exchange) readForm() (release func(), err error) {
	limit := int64(maxFormBytes)
	if x.route.scope == anyone {
		limit = maxPublicFormBytes
	}
	size := x.r.ContentLength
	if size < 0 || size > limit {
		size = limit
	}
	held, err := x.Limits.HoldBody(x.principal, size)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			held()
		}
	}()
	control := http.NewResponseController(x.w)
	control.SetReadDeadline(time.Now().Add(formTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, limit))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, shop.Errorf(shop.PayloadTooLarge, "The form is too large; send at most %d bytes.", limit)
	}
	if err != nil {
		return nil, errUnreadableForm()
	}
	control.SetReadDeadline(time.Time{})
	x.w.BodyRead()
	mediaType, _, _ := mime.ParseMediaType(x.r.Header.Get("Content-Type"))
	if len(body) > 0 && mediaType != "application/x-www-form-urlencoded" {
		return nil, errUnreadableForm()
	}
	if x.r.PostForm, err = url.ParseQuery(string(body)); err != nil {
		return nil, errUnreadableForm()
	}
	for _, values := range x.r.PostForm {
		for _, value := range values {
			if len(value) > maxFieldBytes {
				err = shop.Errorf(shop.PayloadTooLarge, "A field of the form is too large; send at most %d bytes.", maxFieldBytes)
				return nil, err
			}
		}
	}
	return held, nil
}

func errUnreadableForm() error {
	return shop.Errorf(shop.InvalidParameter, "The form could not be read; reload the page and try again.")
}

// context returns the request's context with the signed-in principal, whom the service records as the author
// of any changes.
func (x *exchange) context() context.Context { return shop.WithPrincipal(x.r.Context(), x.principal) }

// May reports whether the user's key grants a scope.
func (x *exchange) May(scope shop.Scope) bool { return x.principal.HasScope(scope) }

// partial reports whether htmx sent the request and expects a fragment of a page.
func (x *exchange) partial() bool {
	return x.r.Header.Get("HX-Request") == "true" && x.r.Header.Get("HX-History-Restore-Request") != "true"
}

// pathID returns the path parameter "id". It fails with not_found if the parameter is not an integer.
func (x *exchange) pathID() (int64, error) { return x.pathIDNamed("id") }

// pathIDNamed is like pathID, but for the path parameter with the given name.
func (x *exchange) pathIDNamed(name string) (int64, error) {
	id, err := strconv.ParseInt(x.r.PathValue(name), 10, 64)
	if err != nil {
		return 0, errPageNotFound()
	}
	return id, nil
}

// field returns the value of a form field.
func (x *exchange) field(name string) string { return x.r.PostForm.Get(name) }

// At prepends the path prefix from the public URL to a path.
func (p *Pages) At(path string) string { return p.base + path }

// trigger makes htmx raise an event on the page by setting the HX-Trigger header. The detail of the event is a text or
// an object. Headers must be ASCII, so other characters are escaped.
func (x *exchange) trigger(event string, detail any) {
	if x.triggers == nil {
		x.triggers = map[string]any{}
	}
	x.triggers[event] = detail
	text, err := json.Marshal(x.triggers)
	if err != nil {
		panic(err) // cannot happen, because only texts and messages are encoded
	}
	var ascii strings.Builder
	for _, r := range string(text) {
		switch {
		case r < 0x80:
			ascii.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&ascii, `\u%04x`, r)
		default:
			r -= 0x10000
			fmt.Fprintf(&ascii, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
	}
	x.w.Header().Set("HX-Trigger", ascii.String())
}

// send writes a complete response with the given status, content type and body.
func (x *exchange) send(status int, contentType string, body []byte) error {
	release, err := x.Limits.HoldBody(x.principal, int64(len(body)))
	if err != nil { // an error page needs little memory
		status, contentType, body = statusOf(shop.AsError(err).Code), "text/plain; charset=utf-8", []byte(shop.AsError(err).Message+"\n")
	} else {
		defer release()
	}
	x.startResponse(status, contentType, len(body))
	x.w.Write(body) // fails only if the browser has disconnected
	return nil
}

// startResponse releases the limits that the exchange holds and writes the header of a response.
func (x *exchange) startResponse(status int, contentType string, size int) {
	x.releaseLimits() // limits do not apply while the browser reads the response
	h := x.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(size))
	x.w.WriteHeader(status)
}

// show responds with a complete page.
func (x *exchange) show(status int, page, title string, data any) error {
	return x.showIn(x.newPage(), status, page, title, data)
}

// showIn is like show, but renders the page into the given buffer.
func (x *exchange) showIn(buffer *pageBuffer, status int, page, title string, data any) error {
	defer buffer.release()
	view := x.view(title, data)
	view.Message = x.takeMessage()
	if err := x.templates.page(buffer, page, view); err != nil {
		return err
	}
	x.sendPage(status, buffer)
	return nil
}

// showFragment responds with a fragment of a page.
func (x *exchange) showFragment(name string, data any) error {
	buffer := x.newPage()
	defer buffer.release()
	if err := x.templates.fragment(buffer, name, x.view("", data)); err != nil {
		return err
	}
	x.sendPage(http.StatusOK, buffer)
	return nil
}

func (x *exchange) sendPage(status int, buffer *pageBuffer) {
	x.startResponse(status, "text/html; charset=utf-8", buffer.size)
	buffer.sendTo(x.w)
}

// redirect sends the browser to another page, which shows the message of this exchange.
func (x *exchange) redirect(path string) error {
	x.keepMessage()
	if x.partial() {
		x.w.Header().Del("HX-Trigger") // the message is shown on the next page instead
		x.w.Header().Set("HX-Redirect", x.At(path))
		return x.send(http.StatusOK, "text/html; charset=utf-8", nil)
	}
	http.Redirect(x.w, x.r, x.At(path), http.StatusSeeOther)
	return nil
}

// showError shows an error as a page, or as a message on the current page if htmx sent the request.
func (x *exchange) showError(e *shop.Error) {
	status := statusOf(e.Code)
	if e.Code == shop.InvalidAPIKey && x.route.scope != anyone {
		x.askToSignIn()
		return
	}
	if h := x.w.Header(); (e.Code == shop.Unavailable || e.Code == shop.RateLimited) && h.Get("Retry-After") == "" {
		h.Set("Retry-After", "1")
	}
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

// askToSignIn redirects to the sign-in form, which returns to the current page after a successful sign-in.
func (x *exchange) askToSignIn() {
	back := x.r.URL.RequestURI()
	if x.partial() {
		back = x.currentPage()
	} else if x.r.Method != http.MethodGet {
		back = ""
	}
	target := "/staff/sign-in"
	if isStaffPath(back) && back != "/" {
		target += "?next=" + url.QueryEscape(back)
	}
	x.redirect(target)
}

// currentPage returns the path and query of the page from which a form was sent, or "" if it is not known.
func (x *exchange) currentPage() string {
	if !x.partial() {
		return x.field("back")
	}
	current, err := url.Parse(x.r.Header.Get("HX-Current-URL"))
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(current.RequestURI(), x.base)
}

// backOr returns the path and query in the form field "back", to which the browser returns after an action. If the
// field is missing or does not lead to a staff page, backOr returns its argument.
func (x *exchange) backOr(otherwise string) string { return staffPathOr(x.field("back"), otherwise) }

// isNotFound reports whether an error says that something does not exist.
func isNotFound(err error) bool { return err != nil && shop.AsError(err).Code == shop.NotFound }

// statusOf returns the HTTP status for an error page. It is the status that the API uses for the same error,
// except that a form with an invalid field gets 422.
func statusOf(code shop.Code) int {
	if code == shop.ValidationFailed || code == shop.InvalidParameter {
		return http.StatusUnprocessableEntity
	}
	return web.Status[code]
}
