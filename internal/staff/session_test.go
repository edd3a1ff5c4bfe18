package staff

import (
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// examplePath returns the route's path with example values in place of the wildcards.
func (r route) examplePath(id string) string {
	return strings.NewReplacer("{id}", id, "{delivery}", "1", "{$}", "", "{sum}", "0", "{name}", "x.js").Replace(r.path)
}

func TestEveryPageRequiresASession(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.browser()
	for _, r := range routes() {
		got := b.send(r.method, r.examplePath("1"))
		to := got.header.Get("Location")
		if r.scope != anyone && (got.status != http.StatusSeeOther || !strings.HasPrefix(to, "/staff/sign-in")) {
			t.Errorf("%s %s returned %d with a redirect to %q", r.method, r.path, got.status, to)
		}
	}
	for _, key := range []string{"", "ask_live_000000000000000000000000000000_000000", configuredKey + "x"} {
		if got := b.post("/staff/sign-in", "key", key).want(401, "not valid"); len(got.header["Set-Cookie"]) > 0 {
			t.Errorf("the key %q got a cookie", key)
		}
	}
}

func TestSessionEndsWithItsKey(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for name, end := range map[string]func(t *testing.T, key shop.IssuedKey, b *browser) error{
		"revoked": func(t *testing.T, key shop.IssuedKey, _ *browser) error {
			return s.RevokeKey(t.Context(), shop.Caller{}, key.ID)
		},
		"rotated": func(t *testing.T, key shop.IssuedKey, _ *browser) error {
			_, err := s.RotateKey(t.Context(), shop.Caller{}, key.ID, 0)
			return err
		},
		"signed out": func(t *testing.T, _ shop.IssuedKey, b *browser) error {
			b.post("/staff/sign-out").wantRedirect("/staff/sign-in")
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
			shoptest.OK(t, end(t, key, b))
			b.client.Jar.SetCookies(address, kept) // a copy of the old cookie must not work either
			got := b.get("/staff/pets")
			got.wantRedirect("/staff/sign-in?next=%2Fstaff%2Fpets")
			b.withHTMX().get("/staff/pets/1/row").wantRedirect("/staff/sign-in")
		})
	}
}

func TestSessionIsValidOnEveryNode(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(s.Key(t, shop.Admin).Secret)
	here, _ := url.Parse(s.url)
	copied := s.browser().with("Cookie", b.client.Jar.Cookies(here)[0].String())
	_, copied.url = s.serve(shoptest.Must(s.Node(t.Context(), shop.Options{}))(t), Config{})
	copied.mustGet("/staff/people")
	copied.post("/staff/sign-out")
	b.with("Cookie", "animalstore_production=another").get("/staff/people").wantRedirect("/staff/sign-in?next=%2Fstaff%2Fpeople")
}

// Scripts cannot read the session cookie. Over TLS, another subdomain cannot set it, and browsers never use plain HTTP
// again.
func TestSessionCookieAttributes(t *testing.T) {
	t.Parallel()
	const root, below = "https://pets.example.com/v1", "https://pets.example.com/shop/v1"
	for _, c := range []struct {
		tls                           bool
		public                        string
		name, path, transportSecurity string
	}{
		{false, "", "animalstore_production", "/", ""},
		{true, "", "__Host-animalstore_production", "/", ""},
		{false, root, "__Host-animalstore_production", "/", ""},
		{true, root, "__Host-animalstore_production", "/", "max-age=31536000"},
		{true, below, "__Secure-animalstore_production", "/shop/", "max-age=31536000"},
	} {
		s := newShop(t, Config{TLS: c.tls, PublicURL: c.public})
		key := s.Key(t, shop.PetsRead)
		b := s.browser().with("X-Forwarded-Proto", "https") // must be ignored, because any client can send it
		got := b.post("/staff/sign-in", "key", " "+key.Secret+"\n")
		cookie := shoptest.Must(http.ParseSetCookie(got.header.Get("Set-Cookie")))(t)
		want := &http.Cookie{Name: c.name, Value: cookie.Value, Path: c.path, MaxAge: 43200, HttpOnly: true,
			SameSite: http.SameSiteLaxMode, Secure: strings.HasPrefix(c.name, "__")}
		if cookie.String() != want.String() || strings.Contains(cookie.Value, key.Secret) {
			t.Errorf("%+v: got the cookie %v, want %v without the key", c, cookie, want)
		}
		if got := got.header.Get("Strict-Transport-Security"); got != c.transportSecurity {
			t.Errorf("%+v: got Strict-Transport-Security %q", c, got)
		}
		// The test sends the cookie itself, because the cookie jar does not send it without TLS or outside of its path.
		b.with("Cookie", c.name+"="+cookie.Value).mustGet("/staff/pets")
	}
}

// Signing in never leads to another site, and never puts a control character into a header.
func TestSignInRedirectsToStaffPagesOnly(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.AddPet(t, "Rex", 1, shop.Available) // the owner of an empty shop is led to the set-up
	for next, want := range map[string]string{
		"": "/", "/staff/pets?status=sold": "/staff/pets?status=sold", "https://evil.example": "/", "//evil.example": "/",
		"/\\evil.example": "/", "/staff/\\evil": "/", "/staff//evil.example": "/", "/v1/pets": "/",
		"/staff/a\x00b": "/", "/staff/pets?q=a\r\nSet-Cookie:x": "/",
	} {
		s.browser().post("/staff/sign-in", "key", configuredKey, "next", next).wantRedirect(want)
	}
}

func TestCrossSiteFormsAreRefused(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	const site = "Sec-Fetch-Site"
	for value, name := range map[string]string{"cross-site": site, "same-site": site, "https://evil.example": "Origin"} {
		b.with(name, value).post("/staff/pets", "name", "Rex", "category", "1").want(403, "another site")
	}
	s.wantPetCount(0)
	b.with(site, "same-origin").post("/staff/pets", "name", "Rex", "category", "1").want(303)
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
			got := b.send(r.method, r.examplePath("404"))
			if may := scope == shop.Admin || scope == r.scope; may == (got.status == http.StatusForbidden) {
				t.Errorf("with %s, %s %s returned %d", scope, r.method, r.path, got.status)
			}
		}
		for page, needed := range map[string]shop.Scope{
			"/staff/pets": shop.PetsRead, "/staff/orders": shop.OrdersRead, "/staff/categories": shop.PetsRead,
			"/staff/people": shop.Admin, "/staff/webhooks": shop.Admin,
		} {
			if offered := strings.Contains(home.body, `<li><a href="`+page+`"`); offered != (scope == needed || scope == shop.Admin) {
				t.Errorf("with %s, the link to %s is shown: %v", scope, page, offered)
			}
		}
	}
	s.AddPet(t, "Rex", 1, shop.Available)
	reader := s.signedIn(s.Key(t, shop.PetsRead).Secret)
	for _, page := range []string{"/staff/pets", "/staff/pets/1", "/staff/categories"} {
		forms := regexp.MustCompile(`<form[^>]*method="post"[^>]*action="([^"]*)"`).FindAllStringSubmatch(reader.mustGet(page).body, -1)
		if slices.ContainsFunc(forms, func(form []string) bool { return form[1] != "/staff/sign-out" && form[1] != "/staff/theme" }) {
			t.Errorf("%s offers changes: %v", page, forms)
		}
	}
}

func TestEveryResponseHasSecurityHeaders(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	s.AddPet(t, "Rex", 1, shop.Available)
	for _, page := range []string{"/", "/staff/sign-in", "/staff/pets", "/staff/pets/1", "/staff/nowhere", "/staff/static/0/x.js"} {
		got := b.get(page).lacks("<script>", "<style", " style=", "onclick=", "javascript:", "hx-on")
		policy := got.header.Get("Content-Security-Policy")
		response{t: t, body: policy}.lacks("unsafe").contains("default-src 'none'", "script-src 'self'", "style-src 'self'",
			"frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'")
		h := got.header
		if h.Get("X-Frame-Options") != "DENY" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: got the headers %v, want DENY, nosniff and no-store", page, h)
		}
	}
	// Over plain HTTP, browsers accept the Cross-Origin-Opener-Policy header only from the computer that they run on.
	for host, want := range map[string]string{"127.0.0.1:8080": "same-origin", "localhost": "same-origin", "shop.example:8080": ""} {
		r := httptest.NewRequest("GET", "http://"+host+"/staff/sign-in", nil)
		w := httptest.NewRecorder()
		s.pages.ServeHTTP(w, r)
		if got := w.Header().Get("Cross-Origin-Opener-Policy"); got != want {
			t.Errorf("%s: got the opener policy %q, want %q", host, got, want)
		}
	}
	b.get("/staff/nowhere").want(404, "There is no page at this address")
	b.get("/staff").wantRedirect("/")
	b.get("/staff/").wantRedirect("/")
	b.send("DELETE", "/staff/pets").want(405)
	names := map[string]bool{}
	for _, r := range routes() {
		names[r.method+" "+r.page] = true
	}
	if len(names) != len(routes()) {
		t.Errorf("%d routes have only %d names: %v", len(routes()), len(names), names)
	}
}

// Behind a proxy that serves the pages below a prefix, every link includes the prefix.
func TestLinksIncludeThePublicPrefix(t *testing.T) {
	t.Parallel()
	s := newShop(t, Config{PublicURL: "http://pets.example.com/shop/v1"})
	s.AddPet(t, "Rex", 1, shop.Available)
	b := s.browser()
	got := b.post("/staff/sign-in", "key", configuredKey, "next", "/staff/pets?status=sold")
	got.wantRedirect("/shop/staff/pets?status=sold")
	cookie, _, _ := strings.Cut(got.header.Get("Set-Cookie"), ";")
	b.get("/staff/pets").wantRedirect("/shop/staff/sign-in?next=%2Fstaff%2Fpets")
	signedIn := b.with("Cookie", cookie) // the cookie jar sends the cookie only to /shop/
	address := regexp.MustCompile(`(?:href|src|action|hx-get|hx-post|data-live|data-sign-in)="([^"]*)"`)
	for _, page := range []string{"/", "/staff/pets", "/staff/pets/1", "/staff/orders", "/staff/categories", "/staff/import",
		"/staff/people", "/staff/webhooks"} {
		for _, found := range address.FindAllStringSubmatch(signedIn.mustGet(page).body, -1) {
			if !strings.HasPrefix(found[1], "/shop/") && !strings.HasPrefix(found[1], "#") {
				t.Errorf("%s links to %s", page, found[1])
			}
		}
	}
	// The public origin differs from the Host header.
	public := signedIn.with("Origin", "http://pets.example.com")
	public.post("/staff/pets", "name", "Max", "category", "1").wantRedirect("/shop/staff/pets")
}

// If the store is unavailable, the error page shows no internal details.
func TestStoreFailureShowsAnErrorPage(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	s.Store.Close()
	for _, page := range []string{"/", "/staff/pets"} {
		if got := b.get(page).contains("Something went wrong").lacks("closed"); got.status < 500 {
			t.Errorf("%s returned %d: %s", page, got.status, got.text())
		}
	}
	if got := b.withHTMX().get("/staff/pets/1/row"); got.status < 500 || !strings.Contains(got.header.Get("HX-Trigger"), "problem") {
		t.Errorf("htmx got %d %v", got.status, got.header)
	}
}

// sendForm sends a form without a network and without a session.
func (s *testShop) sendForm(path, contentType string, body io.Reader) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", path, body)
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	s.pages.ServeHTTP(w, r)
	return w
}

const formType = "application/x-www-form-urlencoded"

// Clients that send only half of a form do not prevent others from using the pages.
func TestHalfSentFormsDoNotMakeThePagesBusy(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var sending sync.WaitGroup
	defer sending.Wait()
	for range admission.PublicRequests.Limit().Total + 10 {
		body, rest := io.Pipe()
		sending.Go(func() { s.sendForm("/staff/sign-in", formType, body) })
		io.WriteString(rest, "key=") // returns when the service has read these bytes
		defer rest.Close()
	}
	s.browser().mustGet("/staff/sign-in")
}

// formDeadlines is a response that records the deadlines for reading the form.
type formDeadlines struct {
	*httptest.ResponseRecorder
	set []time.Duration // from the time of the call; 0 if the deadline was removed
}

func (d *formDeadlines) SetReadDeadline(deadline time.Time) error {
	left := time.Duration(0)
	if !deadline.IsZero() {
		left = time.Until(deadline).Round(time.Second)
	}
	d.set = append(d.set, left)
	return nil
}

// A user who is not signed in has less time to send a form.
func TestFormsMustArriveInTime(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	in := shoptest.Must(s.SignIn(t.Context(), configuredKey, shop.NewSession{}))(t)
	for path, want := range map[string]time.Duration{"/staff/sign-in": 5 * time.Second, "/staff/sign-in/link": 5 * time.Second, "/staff/pets": 30 * time.Second} {
		r := httptest.NewRequest("POST", path, strings.NewReader("name=Rex"))
		r.Header.Set("Content-Type", formType)
		r.AddCookie(&http.Cookie{Name: "animalstore_production", Value: in.Token})
		w := &formDeadlines{ResponseRecorder: httptest.NewRecorder()}
		s.pages.ServeHTTP(w, r)
		if !slices.Equal(w.set, []time.Duration{want, 0}) {
			t.Errorf("%s: got the deadlines %v, want %v and none after that", path, w.set, want)
		}
	}
}

// The body of a form is read to its end, because net/http would otherwise wait for the rest without a deadline. There
// is an exception: if a user who is not signed in sends a large form, the service closes the connection instead of
// reading it.
func TestFormsAreReadUpToTheirLimit(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, contentType := range []string{"", "text/plain", "multipart/form-data"} {
		body := strings.NewReader("key=secret")
		if w := s.sendForm("/staff/sign-in", contentType, body); w.Code != http.StatusUnprocessableEntity || body.Len() != 0 {
			t.Errorf("type %q: got %d with %d bytes unread, want 422 and none", contentType, w.Code, body.Len())
		}
	}
	large := strings.Repeat("x", maxFormBytes)
	for path, want := range map[string]int{"/staff/sign-in": http.StatusRequestEntityTooLarge, "/staff/pets": http.StatusSeeOther} {
		body := strings.NewReader(large)
		w := s.sendForm(path, formType, body)
		if read := maxFormBytes - body.Len(); w.Code != want || read > 2*maxPublicFormBytes || w.Header().Get("Connection") != "close" {
			t.Errorf("%s: got %d after %d bytes, and %v; want %d after at most %d, and Connection: close",
				path, w.Code, read, w.Header(), want, 2*maxPublicFormBytes)
		}
	}
	b := s.signedIn(configuredKey)
	b.post("/staff/pets", "name", large).want(413, "The form is too large")
	b.post("/staff/pets", "name", strings.Repeat("x", maxFieldBytes+1)).want(413, "A field of the form is too large")
}

// Responses to users who are not signed in stay small, even if they repeat a long text that the user has sent.
func TestStrangersGetSmallResponses(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.browser()
	long := "/staff/pets?name=" + strings.Repeat("'", 15_000)
	next := "/staff/pets?name=" + strings.Repeat("'", maxAddressBytes-len("/staff/pets?name="))
	b.mustGet("/staff/sign-in?next=" + next).contains(html.EscapeString(next))
	for _, got := range []response{
		b.mustGet("/staff/sign-in?next="+long, "your session has expired"),
		b.post("/staff/sign-in", "key", "wrong", "next", long[:1000]).want(401),
		b.get(long).want(303),
		b.with("HX-Request", "true").with("HX-Current-URL", s.url+long).get("/staff/pets").want(200),
		b.send(strings.Repeat("'", 15_000), "/staff/pets").want(405, "does not accept"),
		b.get("/staff/" + strings.Repeat("'", 15_000)).want(404),
		b.post("/staff/theme", "theme", "dark", "back", long[:1000]).want(303),
		b.with("Cookie", "animalstore_message="+strings.Repeat("e", 15_000)).mustGet("/staff/sign-in"),
	} {
		var header strings.Builder
		got.header.Write(&header)
		if size := header.Len() + len(got.body); size > 10<<10 {
			t.Errorf("%s: got %d bytes, want fewer", got.request, size)
		}
	}
}
