package staff

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// visit is one request of a browser and its response.
type visit struct {
	*Pages
	w         *web.Recorder
	r         *http.Request
	route     route
	id        string
	token     string // of the session cookie
	principal shop.Principal
	liveFrom  int64 // the feed's position before the page was rendered
	held      bool  // whether the visit holds the semaphore slots
	streamed  bool  // the response lasts as long as the browser wants, so its duration is not measured
}

// leave releases the semaphore, if the visit holds it.
func (v *visit) leave() {
	if v.held {
		v.held = false
		<-v.slots
	}
}

const (
	// maxForm is the maximum size of a form, and formTimeout how long a browser may take to send it.
	maxForm     = 64 << 10
	formTimeout = 30 * time.Second
	// answerTimeout is how long a browser may take to read a response.
	answerTimeout = 30 * time.Second
)

// readForm parses the request's form.
func (v *visit) readForm() error {
	control := http.NewResponseController(v.w)
	control.SetReadDeadline(time.Now().Add(formTimeout))
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
	err := v.r.ParseForm()
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return shop.Errorf(shop.PayloadTooLarge, "The form is too large; send at most %d bytes.", maxForm)
	}
	if err != nil {
		return shop.Errorf(shop.InvalidParameter, "The form cannot be read; open the page again and send it from there.")
	}
	control.SetReadDeadline(time.Time{})
	v.w.BodyRead()
	return nil
}

// context returns the request's context with its principal, whom the service records as the actor of changes.
func (v *visit) context() context.Context { return shop.WithPrincipal(v.r.Context(), v.principal) }

// May reports whether the user has a scope.
func (v *visit) May(scope shop.Scope) bool { return v.principal.HasScope(scope) }

// partial reports whether htmx requests a part of a page.
func (v *visit) partial() bool {
	return v.r.Header.Get("HX-Request") == "true" && v.r.Header.Get("HX-History-Restore-Request") != "true"
}

// thing returns the id of the resource in the path.
func (v *visit) thing() (int64, error) { return v.idIn("id") }

func (v *visit) idIn(name string) (int64, error) {
	id, err := strconv.ParseInt(v.r.PathValue(name), 10, 64)
	if err != nil {
		return 0, errNoPage()
	}
	return id, nil
}

// field returns a field of the form.
func (v *visit) field(name string) string { return v.r.PostForm.Get(name) }

// At returns a path with the prefix of the public URL.
func (p *Pages) At(path string) string { return p.base + path }

// tell makes the page show a message, by the HX-Trigger header. Headers must be ASCII, so other characters
// are escaped.
func (v *visit) tell(kind, format string, args ...any) {
	text, err := json.Marshal(map[string]string{kind: fmt.Sprintf(format, args...)})
	if err != nil {
		panic(err) // strings can always be encoded
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
	v.w.Header().Set("HX-Trigger", ascii.String())
}

// send sends a complete response.
func (v *visit) send(status int, contentType string, body []byte) error {
	v.leave() // a browser that reads slowly must not block others
	http.NewResponseController(v.w).SetWriteDeadline(time.Now().Add(answerTimeout))
	h := v.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	v.w.WriteHeader(status)
	v.w.Write(body) // fails only if the browser has disconnected
	return nil
}

// show renders a complete page.
func (v *visit) show(status int, page, title string, data any) error {
	var body bytes.Buffer
	if err := v.templates.page(&body, page, v.view(title, data)); err != nil {
		return err
	}
	return v.send(status, "text/html; charset=utf-8", body.Bytes())
}

// showPart renders parts of a page.
func (v *visit) showPart(part string, data any) error {
	var body bytes.Buffer
	if err := v.templates.part(&body, part, v.view("", data)); err != nil {
		return err
	}
	return v.send(http.StatusOK, "text/html; charset=utf-8", body.Bytes())
}

// goTo redirects the browser to another page.
func (v *visit) goTo(path string) error {
	if v.partial() {
		v.w.Header().Set("HX-Redirect", v.At(path))
		return v.send(http.StatusOK, "text/html; charset=utf-8", nil)
	}
	http.Redirect(v.w, v.r, v.At(path), http.StatusSeeOther)
	return nil
}

// showError shows an error as a page, or as a message on the current page if htmx sent the request.
func (v *visit) showError(e *shop.Error) {
	status := statusOf(e.Code)
	if e.Code == shop.InvalidAPIKey && v.route.scope != anyone {
		v.askToSignIn()
		return
	}
	if e.Code == shop.Unavailable {
		v.w.Header().Set("Retry-After", "1")
	}
	if v.partial() {
		v.tell("problem", "%s", e.Message)
		v.w.Header().Set("HX-Reswap", "none")
		if status < 500 { // browsers log other statuses to the console as failures
			status = http.StatusOK
		}
		v.send(status, "text/html; charset=utf-8", nil)
		return
	}
	if err := v.show(status, "error", "That did not work", e); err != nil {
		v.send(status, "text/plain; charset=utf-8", []byte(e.Message+"\n"))
	}
}

// askToSignIn redirects to the sign-in form, which then returns to the current page.
func (v *visit) askToSignIn() {
	back := v.r.URL.RequestURI()
	if v.r.Method != http.MethodGet || v.partial() {
		back = ""
		if current, err := url.Parse(v.r.Header.Get("HX-Current-URL")); err == nil && v.partial() {
			back = strings.TrimPrefix(current.RequestURI(), v.base)
		}
	}
	target := "/staff/sign-in"
	if isOurs(back) && back != "/" {
		target += "?next=" + url.QueryEscape(back)
	}
	v.goTo(target)
}

// statusOf returns the status of the page that reports an error: the same as that of the API, except that a
// form with a wrong field gets 422.
func statusOf(code shop.Code) int {
	if code == shop.ValidationFailed || code == shop.InvalidParameter {
		return http.StatusUnprocessableEntity
	}
	return web.Status[code]
}
