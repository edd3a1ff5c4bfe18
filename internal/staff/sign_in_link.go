package staff

import (
	"html/template"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// newLinkPage is the template data for the page that shows a new sign-in link.
type newLinkPage struct {
	KeyName   string
	URL       string
	QR        template.HTML
	EndsAt    time.Time
	Own       bool // whether the link is for the user's own key
	LocalOnly bool // whether the link works only on this computer
	Added     bool // whether the person was added by this request
	Setup     bool // whether the person was added while the shop was being set up
}

func (p *Pages) createKeyLink(x *exchange, id int64) error { return x.showLinkFor(id, newLinkPage{}) }

// linkForNewPerson shows a sign-in link for a person who was just added.
func (x *exchange) linkForNewPerson(key shop.Key) error {
	return x.showLinkFor(key.ID, newLinkPage{Added: true, Setup: x.field("setup") != ""})
}

func (x *exchange) showLinkFor(id int64, page newLinkPage) error {
	link, err := x.Service.CreateSignInLink(x.r.Context(), id)
	if err != nil {
		return x.showAccessError(peoplePage{}, err)
	}
	x.Log.Info("sign-in link created", "request", x.id, "key", keyActor(id), "by", x.principal.Actor())
	page.KeyName, page.Own = link.KeyName, id == x.principal.ID()
	return x.showNewLink(link, page)
}

func (p *Pages) createOwnLink(x *exchange) error {
	link, err := p.Service.CreateOwnSignInLink(x.r.Context(), x.token)
	if err != nil {
		return err
	}
	p.Log.Info("sign-in link created", "request", x.id, "key", x.principal.Actor(), "by", x.principal.Actor())
	return x.showNewLink(link, newLinkPage{KeyName: personName(x.principal.ID(), link.KeyName), Own: true})
}

func (x *exchange) showNewLink(link shop.IssuedSignInLink, page newLinkPage) (err error) {
	base := x.baseURL()
	page.URL, page.EndsAt, page.LocalOnly = SignInLink(base, link.Token), link.EndsAt, isLoopback(base)
	if page.QR, err = qrCode(page.URL, "QR code with the sign-in link"); err != nil {
		return err
	}
	return x.show(http.StatusOK, "new-link", "Sign-in link", page)
}

// SignInLink returns the URL of a sign-in link. The parameter base is the URL of the page Today without its final slash.
func SignInLink(base, token string) string {
	return base + "/staff/sign-in/link?" + url.Values{"token": {token}}.Encode()
}

// baseURL returns the address of the pages, without a slash at its end.
func (x *exchange) baseURL() string { return strings.TrimSuffix(web.BaseURL(x.PublicURL, x.r), "/v1") }

// isLoopback reports whether a URL can be opened only on the computer that serves it.
func isLoopback(address string) bool {
	parsed, err := url.Parse(address)
	if err != nil {
		return false
	}
	return parsed.Hostname() == "localhost" || net.ParseIP(parsed.Hostname()).IsLoopback()
}

// signInLinkPage is the template data for the page that a sign-in link opens.
type signInLinkPage struct {
	Token   string
	KeyName string // empty if the link is not valid
}

// openSignInLink asks the user whether to sign in. Opening a link does not use it up, because programs that preview
// or scan messages open links, too.
func (p *Pages) openSignInLink(x *exchange) error {
	x.hideToken()
	page := signInLinkPage{Token: x.r.URL.Query().Get("token")}
	principal, err := p.Service.SignInLinkPrincipal(x.r.Context(), page.Token)
	if err != nil {
		return x.showLinkError(err)
	}
	page.KeyName = personName(principal.ID(), principal.Name())
	return x.show(http.StatusOK, "sign-in-link", "Sign in", page)
}

func (p *Pages) useSignInLink(x *exchange) error {
	x.hideToken()
	var in shop.SignedIn
	principal, err := p.Service.SignInLinkPrincipal(x.r.Context(), x.field("token"))
	if err == nil {
		err = x.countAs(principal)
	}
	if err == nil {
		in, err = p.Service.SignInWithLink(x.r.Context(), x.field("token"), x.newSession())
	}
	if err != nil {
		return x.showLinkError(err)
	}
	x.finishSignIn(in, "link")
	home, err := x.homeAfterSignIn()
	if err != nil {
		return err
	}
	return x.redirect(home)
}

// hideToken keeps the token in the address of the page out of the Referer header. The policy "no-referrer"
// would also remove the Origin header, without which the form is refused if the pages are served over HTTP.
func (x *exchange) hideToken() { x.w.Header().Set("Referrer-Policy", "strict-origin") }

// showLinkError shows a page that says that the link no longer works. It does so only if err means that the link is
// invalid, and returns any other error. It fails with rate_limited if too many links from the same network address did
// not work. A link that works is never refused because of them: behind a proxy, all users may share one address.
func (x *exchange) showLinkError(err error) error {
	if shop.AsError(err).Code != shop.InvalidAPIKey {
		return err
	}
	if allowed, _ := x.Limits.FailedSignIns.Take(addressOf(x.r)); !allowed {
		return shop.Errorf(shop.RateLimited, "There were too many links that do not work; try again in a few seconds.")
	}
	return x.show(http.StatusGone, "sign-in-link", "This link no longer works", signInLinkPage{})
}
