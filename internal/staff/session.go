package staff

import (
	"net/http"
	"strings"

	"animalstore/internal/shop"
)

// cookieName includes the environment, because browsers share cookies between the ports of a host.
func (p *Pages) cookieName() string { return "animalstore_" + string(p.Service.Environment()) }

// setCookie sets the session cookie, or deletes it if the token is empty.
func (v *visit) setCookie(token string) {
	cookie := &http.Cookie{
		Name: v.cookieName(), Value: token, Path: v.base + "/", HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: v.secure || v.r.TLS != nil, MaxAge: int(shop.SessionLifetime.Seconds()),
	}
	if token == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(v.w, cookie)
}

// identify loads the session. It fails with invalid_api_key if there is none.
func (v *visit) identify() (err error) {
	cookie, err := v.r.Cookie(v.cookieName())
	if err != nil {
		return shop.Errorf(shop.InvalidAPIKey, "You are not signed in.")
	}
	v.token = cookie.Value
	if v.liveFrom, _ = v.Service.FeedState(); v.liveFrom == 0 { // this node has not read the feed yet
		if v.liveFrom, err = v.Service.LastEvent(v.r.Context()); err != nil {
			return err
		}
	}
	v.principal, err = v.Service.SessionPrincipal(v.r.Context(), v.token)
	return err
}

// signInForm is the data of the sign-in page.
type signInForm struct {
	Next         string
	Problem      string
	SessionEnded bool
}

func (p *Pages) signInPage(v *visit) error {
	query := v.r.URL.Query()
	return v.show(http.StatusOK, "sign-in", "Sign in", signInForm{Next: query.Get("next"), SessionEnded: query.Has("next")})
}

func (p *Pages) signIn(v *visit) error {
	form := signInForm{Next: v.field("next")}
	token, err := p.Service.SignIn(v.r.Context(), strings.TrimSpace(v.field("key")))
	if err != nil {
		if shop.AsError(err).Code != shop.InvalidAPIKey {
			return err
		}
		form.Problem = "This key is not valid. Check that you copied all of it, that it has not expired, and that it belongs to this shop."
		return v.show(http.StatusUnauthorized, "sign-in", "Sign in", form)
	}
	v.setCookie(token)
	if !isOurs(form.Next) {
		form.Next = "/"
	}
	http.Redirect(v.w, v.r, v.At(form.Next), http.StatusSeeOther)
	return nil
}

// isOurs reports whether a path is a staff page and cannot lead to another site.
func isOurs(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	return Serves(path) && !strings.Contains(path, "//") && !strings.ContainsAny(path, "\\\r\n")
}

func (p *Pages) signOut(v *visit) error {
	if cookie, err := v.r.Cookie(v.cookieName()); err == nil {
		if err := p.Service.SignOut(v.r.Context(), cookie.Value); err != nil {
			return err
		}
	}
	v.setCookie("")
	return v.goTo("/staff/sign-in")
}
