package staff

import (
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"animalstore/internal/shop"
)

// cookieName returns the name of the session cookie. The name includes the environment, because browsers share cookies
// between all ports of a host. Over TLS, the prefix __Host- makes browsers refuse a cookie that another subdomain or an
// unencrypted page sets. A cookie with this prefix must be valid for all paths, so pages below a path prefix use the
// weaker prefix __Secure-.
func (x *exchange) cookieName() string { return x.ownCookie(string(x.Service.Environment())) }

// ownCookie returns the full name of a cookie.
func (x *exchange) ownCookie(name string) string {
	name = "animalstore_" + name
	switch {
	case !x.overTLS():
		return name
	case x.base == "":
		return "__Host-" + name
	default:
		return "__Secure-" + name
	}
}

// overTLS reports whether the browser uses TLS, either to this process or to a proxy.
func (x *exchange) overTLS() bool { return x.secure || x.r.TLS != nil }

// setCookie sets the session cookie, or deletes it if the token is empty.
func (x *exchange) setCookie(token string, lifetime time.Duration) {
	cookie := &http.Cookie{
		Name: x.cookieName(), Value: token, Path: x.base + "/", HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: x.overTLS(), MaxAge: int(lifetime.Seconds()),
	}
	if token == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(x.w, cookie)
}

// identify loads the user's session. It fails with invalid_api_key if there is no valid session.
func (x *exchange) identify() (err error) {
	cookie, err := x.r.Cookie(x.cookieName())
	if err != nil {
		return shop.Errorf(shop.InvalidAPIKey, "You are not signed in.")
	}
	x.token = cookie.Value
	if x.liveFrom, _ = x.Service.FeedState(); x.liveFrom == 0 { // this node has not read the event feed yet
		if x.liveFrom, err = x.Service.LastEvent(x.r.Context()); err != nil {
			return err
		}
	}
	x.principal, err = x.Service.SessionPrincipal(x.r.Context(), x.token)
	return err
}

// authorize checks that the user is signed in with a key that has the scope of the route.
func (x *exchange) authorize() error {
	if err := x.identify(); err != nil {
		return err
	}
	if err := x.Limits.CheckRate(x.w.Header(), x.principal); err != nil {
		return err
	}
	if scope := x.route.scope; scope != signedIn && !x.May(scope) {
		return shop.Errorf(shop.InsufficientScope, "You do not have access to this. An owner can give it to you under People.")
	}
	return nil
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

// signInForm is the template data for the sign-in page.
type signInForm struct {
	Next         string
	Problem      string
	Keep         bool // whether the box to stay signed in is ticked
	SessionEnded bool
}

func (p *Pages) signInPage(x *exchange) error {
	query := x.r.URL.Query()
	return x.show(http.StatusOK, "sign-in", "Sign in", signInForm{Next: staffPathOr(query.Get("next"), ""), SessionEnded: query.Has("next")})
}

func (p *Pages) signIn(x *exchange) error {
	form := signInForm{Next: staffPathOr(x.field("next"), "/"), Keep: x.field("keep") != ""}
	secret := strings.TrimSpace(x.field("key"))
	var in shop.SignedIn
	principal, err := p.Service.Authenticate(x.r.Context(), secret)
	if err == nil {
		err = x.countAs(principal)
	}
	if err == nil {
		in, err = p.Service.SignIn(x.r.Context(), secret, x.newSession())
	}
	if err != nil {
		if shop.AsError(err).Code != shop.InvalidAPIKey {
			return err
		}
		form.Problem = "This key is not valid. Check that you copied all of it, that it has not expired, and that it belongs to this shop."
		return x.show(http.StatusUnauthorized, "sign-in", "Sign in", form)
	}
	x.finishSignIn(in, "key")
	if form.Next == "/" {
		if form.Next, err = x.homeAfterSignIn(); err != nil {
			return err
		}
	}
	http.Redirect(x.w, x.r, x.At(form.Next), http.StatusSeeOther)
	return nil
}

// newSession returns the session that a sign-in form asks for. The browser's earlier session ends.
func (x *exchange) newSession() shop.NewSession {
	n := shop.NewSession{Device: deviceName(x.r.UserAgent()), Keep: x.field("keep") != ""}
	if cookie, err := x.r.Cookie(x.cookieName()); err == nil {
		n.Replaces = cookie.Value
	}
	return n
}

// finishSignIn gives the browser its new session.
func (x *exchange) finishSignIn(in shop.SignedIn, with string) {
	lifetime := shop.SessionLifetime
	if x.field("keep") != "" {
		lifetime = shop.LongSessionLifetime
	}
	x.setCookie(in.Token, lifetime)
	x.principal = in.Principal // so that the access log names the key
	x.Log.Info("signed in", "request", x.id, "key", in.Principal.Actor(), "with", with, "device", deviceName(x.r.UserAgent()))
}

// maxAddressBytes is the maximum length of the address of the page to which a user returns, for example after signing
// in. The length is limited because pages and headers repeat the address, even for users who are not signed in.
const maxAddressBytes = 2 << 10

// isStaffPath reports whether a path leads to a staff page and cannot lead to another site. It returns false for a
// path that is too long to repeat.
func isStaffPath(path string) bool {
	// The path and its query go into a header, so neither may contain a control character.
	if len(path) > maxAddressBytes || strings.ContainsFunc(path, unicode.IsControl) {
		return false
	}
	path, _, _ = strings.Cut(path, "?")
	return Serves(path) && !strings.Contains(path, "//") && !strings.Contains(path, "\\")
}

// staffPathOr returns the first path if it leads to a staff page, and the second path if the first one does not.
func staffPathOr(path, otherwise string) string {
	if isStaffPath(path) {
		return path
	}
	return otherwise
}

func (p *Pages) signOut(x *exchange) error {
	if cookie, err := x.r.Cookie(x.cookieName()); err == nil {
		if err := p.Service.SignOut(x.r.Context(), cookie.Value); err != nil {
			return err
		}
	}
	x.setCookie("", 0)
	return x.redirect("/staff/sign-in")
}
