package staff

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
)

// examplePath returns the route's path with values instead of the wildcards.
func (r route) examplePath(id string) string {
	return strings.NewReplacer("{id}", id, "{delivery}", "1", "{$}", "", "{sum}", "0", "{name}", "x.js").Replace(r.path)
}

func TestEveryPageRequiresASession(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.browser()
	for _, r := range routes() {
		got := b.do(b.request(r.method, r.examplePath("1")))
		if r.scope == anyone {
			continue
		}
		if to := got.header.Get("Location"); got.status != http.StatusSeeOther || !strings.HasPrefix(to, "/staff/sign-in") {
			t.Errorf("%s %s returned %d with a redirect to %q", r.method, r.path, got.status, to)
		}
	}
	for _, key := range []string{"", "x", "ask_live_000000000000000000000000000000_000000", configuredKey + "x"} {
		got := b.post("/staff/sign-in", "key", key).want(t, http.StatusUnauthorized, "not valid")
		if len(got.header["Set-Cookie"]) > 0 {
			t.Errorf("the key %q got a cookie", key)
		}
	}
}

func TestSessionEndsWithItsKey(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ctx := t.Context()
	for name, end := range map[string]func(key shop.IssuedKey, b *browser) error{
		"revoked": func(key shop.IssuedKey, _ *browser) error { return s.RevokeKey(ctx, key.ID) },
		"rotated": func(key shop.IssuedKey, _ *browser) error {
			_, err := s.RotateKey(ctx, key.ID, 0)
			return err
		},
		"signed out": func(_ shop.IssuedKey, b *browser) error {
			b.post("/staff/sign-out").wantRedirect(t, "/staff/sign-in")
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := s.Key(t, shop.PetsRead)
			b := s.signedIn(key.Secret)
			b.mustGet("/staff/pets")
			address, _ := url.Parse(s.url)
			kept := b.client.Jar.Cookies(address)
			if err := end(key, b); err != nil {
				t.Fatal(err)
			}
			b.client.Jar.SetCookies(address, kept) // a copy of the old cookie must not work either
			got := b.get("/staff/pets")
			for got.status == http.StatusOK { // a node may remember a key for a moment
				got = b.get("/staff/pets")
			}
			got.wantRedirect(t, "/staff/sign-in?next=%2Fstaff%2Fpets")
			b.withHTMX().get("/staff/pets/1/row").wantRedirect(t, "/staff/sign-in")
		})
	}
}

func TestSessionIsValidOnEveryNode(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(s.Key(t, shop.Admin).Secret)
	here, _ := url.Parse(s.url)
	node, err := s.Node(t.Context(), shop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	there, _ := url.Parse(s.serve(node))
	b.client.Jar.SetCookies(there, b.client.Jar.Cookies(here))
	b.url = there.String()
	b.mustGet("/staff/keys")
	b.post("/staff/sign-out")
	b.url = s.url
	b.client.Jar.SetCookies(here, []*http.Cookie{{Name: "animalstore_production", Value: "another"}})
	b.get("/staff/keys").wantRedirect(t, "/staff/sign-in?next=%2Fstaff%2Fkeys")
}

func TestSessionCookieAttributes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Config)
		want   []string
		not    string
	}{
		"plain":  {func(*Config) {}, []string{"Path=/;", "HttpOnly", "SameSite=Lax", "Max-Age=43200"}, "Secure"},
		"TLS":    {func(c *Config) { c.TLS = true }, []string{"HttpOnly", "Secure"}, "Domain"},
		"public": {func(c *Config) { c.PublicURL = "https://pets.example.com/shop/v1" }, []string{"Path=/shop/;", "Secure"}, "Domain"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, c.change)
			key := s.Key(t, shop.PetsRead)
			got := s.browser().post("/staff/sign-in", "key", " "+key.Secret+"\n")
			cookie := got.header.Get("Set-Cookie")
			for _, want := range c.want {
				if !strings.Contains(cookie+";", want) {
					t.Errorf("the cookie lacks %s: %s", want, cookie)
				}
			}
			if strings.Contains(cookie, c.not) || strings.Contains(cookie, key.Secret) {
				t.Errorf("the cookie is %s", cookie)
			}
		})
	}
}

func TestSignInRedirectsToStaffPagesOnly(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for next, want := range map[string]string{
		"": "/", "/staff/pets?status=sold": "/staff/pets?status=sold", "https://evil.example": "/", "//evil.example": "/",
		"/\\evil.example": "/", "/staff//evil.example": "/", "/v1/pets": "/",
	} {
		s.browser().post("/staff/sign-in", "key", configuredKey, "next", next).wantRedirect(t, want)
	}
}

func TestCrossSiteFormsAreRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(configuredKey)
	for _, header := range [][2]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "same-site"}} {
		r := b.request("POST", "/staff/pets", "name", "Rex", "category", "1")
		r.Header.Set(header[0], header[1])
		b.do(r).want(t, http.StatusForbidden, "another site")
	}
	if page, err := s.ListPets(t.Context(), shop.PetList{PageRequest: shop.PageRequest{Limit: 1}}); err != nil || len(page.Items) > 0 {
		t.Errorf("a cross-site form was accepted: %v, error %v", page, err)
	}
	r := b.request("POST", "/staff/pets", "name", "Rex", "category", "1")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	b.do(r).want(t, http.StatusSeeOther)
}

// Pages neither offer nor perform actions that the scopes of the user's key do not allow.
func TestScopesLimitPagesAndActions(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, scope := range shop.Scopes() {
		b := s.signedIn(s.Key(t, scope).Secret)
		home := b.mustGet("/")
		for _, r := range routes() {
			if r.scope == anyone || r.scope == signedIn {
				continue
			}
			got := b.do(b.request(r.method, r.examplePath("404")))
			if may := scope == shop.Admin || scope == r.scope; may == (got.status == http.StatusForbidden) {
				t.Errorf("with %s, %s %s returned %d", scope, r.method, r.path, got.status)
			}
		}
		for page, needed := range map[string]shop.Scope{
			"/staff/pets": shop.PetsRead, "/staff/orders": shop.OrdersRead, "/staff/categories": shop.PetsRead, "/staff/keys": shop.Admin, "/staff/webhooks": shop.Admin,
		} {
			if offered := strings.Contains(home.body, `<li><a href="`+page+`"`); offered != (scope == needed || scope == shop.Admin) {
				t.Errorf("with %s, the link to %s is shown: %v", scope, page, offered)
			}
		}
	}
	s.AddPet(t, "Rex", 1, shop.Available)
	reader := s.signedIn(s.Key(t, shop.PetsRead).Secret)
	for _, page := range []string{"/staff/pets", "/staff/pets/1", "/staff/categories"} {
		// The sign-out form is the only form that does not use GET.
		if body := reader.mustGet(page).body; strings.Count(body, "<form") != strings.Count(body, `method="get"`)+1 {
			t.Errorf("%s offers changes: %s", page, body)
		}
	}
}

func TestEveryResponseHasSecurityHeaders(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(configuredKey)
	s.AddPet(t, "Rex", 1, shop.Available)
	for _, page := range []string{"/", "/staff/sign-in", "/staff/pets", "/staff/pets/1", "/staff/nowhere", "/staff/static/0/x.js"} {
		got := b.get(page)
		policy := got.header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the content security policy lacks %q", page, want)
			}
		}
		if strings.Contains(policy, "unsafe") || got.header.Get("X-Frame-Options") != "DENY" || got.header.Get("X-Content-Type-Options") != "nosniff" || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", page, got.header)
		}
		for _, bad := range []string{"<script>", "<style", " style=", "onclick=", "javascript:", "hx-on"} {
			if strings.Contains(got.body, bad) {
				t.Errorf("%s contains %s", page, bad)
			}
		}
	}
	b.get("/staff/nowhere").want(t, http.StatusNotFound, "There is no page at this address")
	b.get("/staff").wantRedirect(t, "/")
	b.get("/staff/").wantRedirect(t, "/")
	if got := b.do(b.request("DELETE", "/staff/pets")); got.status != http.StatusMethodNotAllowed {
		t.Errorf("DELETE returned %d", got.status)
	}
	names := []string{}
	for _, r := range routes() {
		if name := r.method + " " + r.page; slices.Contains(names, name) {
			t.Errorf("two routes have the name %s", name)
		} else {
			names = append(names, name)
		}
	}
}

func TestLargeFormsAreRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.signedIn(configuredKey).post("/staff/pets", "name", strings.Repeat("x", maxFormBytes)).want(t, http.StatusRequestEntityTooLarge, "too large")
}

// A client that announces a form but does not send it gets an error response and is disconnected.
func TestUnsentFormClosesTheConnection(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	address, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", address.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Minute)) // reached only if the test hangs
	fmt.Fprintf(conn, "POST /staff/pets HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\nname=", address.Host)
	got, err := io.ReadAll(conn) // reads until the server closes the connection
	if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 303") || !strings.Contains(string(got), "Connection: close") {
		t.Errorf("error %v, response %s", err, got)
	}
}

// Behind a proxy that serves the pages below a prefix, every link includes the prefix.
func TestLinksIncludeThePublicPrefix(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(c *Config) { c.PublicURL = "http://pets.example.com/shop/v1" })
	s.AddPet(t, "Rex", 1, shop.Available)
	token, err := s.SignIn(t.Context(), configuredKey)
	if err != nil {
		t.Fatal(err)
	}
	b := s.browser()
	b.post("/staff/sign-in", "key", configuredKey, "next", "/staff/pets?status=sold").wantRedirect(t, "/shop/staff/pets?status=sold")
	b.get("/staff/pets").wantRedirect(t, "/shop/staff/sign-in?next=%2Fstaff%2Fpets")
	address := regexp.MustCompile(`(?:href|src|action|hx-get|hx-post|data-live|data-sign-in)="([^"]*)"`)
	for _, page := range []string{"/", "/staff/pets", "/staff/pets/1", "/staff/orders", "/staff/categories", "/staff/import", "/staff/keys", "/staff/webhooks"} {
		r := b.request("GET", page)
		// The cookie is added by hand, because the cookie jar sends it only to /shop/.
		r.AddCookie(&http.Cookie{Name: "animalstore_production", Value: token})
		got := b.do(r).want(t, 200)
		for _, found := range address.FindAllStringSubmatch(got.body, -1) {
			if !strings.HasPrefix(found[1], "/shop/") && found[1] != "#main" {
				t.Errorf("%s links to %s", page, found[1])
			}
		}
	}
	r := b.request("POST", "/staff/pets", "name", "Max", "category", "1")
	r.AddCookie(&http.Cookie{Name: "animalstore_production", Value: token})
	r.Header.Set("Origin", "http://pets.example.com") // the public origin, which differs from the Host header
	b.do(r).wantRedirect(t, "/shop/staff/pets")
}

// If the store is unavailable, the error page shows no internal details.
func TestStoreFailureShowsAnErrorPage(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(configuredKey)
	s.Store.Close()
	for _, page := range []string{"/", "/staff/pets"} {
		if got := b.get(page); got.status < 500 || strings.Contains(got.body, "closed") || !strings.Contains(got.text(), "Something went wrong") {
			t.Errorf("%s returned %d: %s", page, got.status, got.text())
		}
	}
	if got := b.withHTMX().get("/staff/pets/1/row"); got.status < 500 || !strings.Contains(got.header.Get("HX-Trigger"), "problem") {
		t.Errorf("htmx got %d %v", got.status, got.header)
	}
}
