package staff

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// message tells the user what a request did. The page shows it for a while.
type message struct {
	Text    string            `json:"text"`
	Problem bool              `json:"problem,omitempty"`
	Undo    string            `json:"undo,omitempty"` // the path of the Undo button, or ""
	Values  map[string]string `json:"values,omitempty"`
	// About names the object of the message, such as pet-7. The page shows only the newest message about an object.
	About string `json:"about,omitempty"`
}

// flash makes the page show a message for a few seconds.
func (x *exchange) flash(format string, args ...any) { x.flashAbout("", nil, format, args...) }

// flashAbout makes the page show a message about an object, which takes the place of an earlier message about it. The
// message has an Undo button, unless u is nil.
func (x *exchange) flashAbout(object string, u *undo, format string, args ...any) {
	x.message = &message{Text: fmt.Sprintf(format, args...), About: object}
	if object == "" && u == nil {
		x.trigger("flash", x.message.Text)
		return
	}
	onPage := *x.message
	if u != nil {
		x.message.Undo, x.message.Values = u.Path, u.Values
		onPage.Undo, onPage.Values = x.At(u.Path), u.Values
	}
	x.trigger("flash", onPage)
}

// flashProblem makes the page show an error message for a few seconds.
func (x *exchange) flashProblem(text string) {
	x.message = &message{Text: text, Problem: true}
	x.trigger("problem", text)
}

// flashError makes the page show an error that the user can act on. It returns any other error.
func (x *exchange) flashError(err error) error {
	if err == nil {
		return nil
	}
	return showProblem(err, func(problem string) error { x.flashProblem(problem); return nil })
}

const (
	// messageCookie is the name of the cookie that carries a message to the page after a redirect. Any node can serve
	// that page.
	messageCookie = "message"
	// messageLifetime is how long the browser may take to open the page after the redirect.
	messageLifetime = time.Minute
	// maxCookieBytes is the maximum size in bytes of a cookie that browsers accept.
	maxCookieBytes = 4096
)

// keepMessage stores the message of this exchange in a cookie, so that the next page can show it.
func (x *exchange) keepMessage() {
	if x.message != nil {
		x.setMessageCookie(x.message.encode(), int(messageLifetime.Seconds()))
	}
}

// encode returns the message as the value of a cookie.
func (m *message) encode() string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // HTML escapes would make the cookie larger
	if err := encoder.Encode(m); err != nil {
		panic(err) // cannot happen, because texts can always be encoded
	}
	return base64.RawURLEncoding.EncodeToString(text.Bytes())
}

func (x *exchange) setMessageCookie(value string, maxAge int) {
	http.SetCookie(x.w, &http.Cookie{
		Name: x.ownCookie(messageCookie), Value: value, Path: x.base + "/", HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Secure: x.overTLS(), MaxAge: maxAge,
	})
}

// takeMessage returns the message that the previous request left for this page, or nil if there is none. Each message
// is returned only once.
func (x *exchange) takeMessage() *message {
	if x.partial() || x.r.Method != http.MethodGet {
		return nil // keep the message for the next page that the user opens
	}
	cookie, err := x.r.Cookie(x.ownCookie(messageCookie))
	if err != nil {
		return nil
	}
	x.setMessageCookie("", -1)
	text, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	var m message
	if err != nil || len(cookie.Value) > maxCookieBytes || json.Unmarshal(text, &m) != nil || m.Undo != "" && !undoPath.MatchString(m.Undo) {
		return nil // somebody has changed the cookie
	}
	return &m
}
