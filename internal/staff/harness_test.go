package staff

import (
	"html"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"animalstore/internal/leaktest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// configuredKey is the admin key of every shop in these tests.
const configuredKey = shoptest.AdminKey

// testShop is a shop whose staff pages are served by a real HTTP server.
type testShop struct {
	*shoptest.Shop
	t     testing.TB
	pages *Pages
	url   string
}

// newShop opens a shop. The config is optional, and newShop sets its Service and Log fields.
func newShop(t testing.TB, config ...Config) *testShop {
	t.Helper()
	return newShopOn(t, shoptest.Options{}, append(config, Config{})[0])
}

func newShopOn(t testing.TB, store shoptest.Options, config Config) *testShop {
	t.Helper()
	s := &testShop{Shop: shoptest.Open(t, store), t: t}
	s.pages, s.url = s.serve(s.Service, config)
	return s
}

// signIn opens a shop and signs in with the configured key.
func signIn(t *testing.T) (*testShop, *browser) {
	t.Helper()
	s := newShop(t)
	return s, s.signedIn(configuredKey)
}

// serve starts an HTTP server with the staff pages for a service.
func (s *testShop) serve(service *shop.Service, config Config) (pages *Pages, url string) {
	s.t.Helper()
	config.Service, config.Log = service, slog.New(slog.NewTextHandler(s.t.Output(), nil))
	pages = shoptest.Must(New(config))(s.t)
	server := shoptest.Serve(s.t, pages)
	s.t.Cleanup(pages.Stopping)
	return pages, server.URL
}

// addOrderedPet adds an animal and an order for it. The reference of the order is the animal's name.
func (s *testShop) addOrderedPet(name string) shop.Pet {
	s.t.Helper()
	pet := s.AddPet(s.t, name, 1, shop.Available)
	shoptest.Must(s.PlaceOrder(s.t.Context(), shop.Caller{}, shop.NewOrder{PetID: pet.ID, Reference: name}))(s.t)
	return pet
}

// browser is a client that keeps cookies and does not follow redirects.
type browser struct {
	t      testing.TB
	url    string
	client *http.Client
	header http.Header // sent with every request
}

func (s *testShop) browser() *browser {
	s.t.Helper()
	jar := shoptest.Must(cookiejar.New(nil))(s.t)
	transport := &http.Transport{}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &browser{t: s.t, url: s.url, header: http.Header{}, client: &http.Client{Jar: jar, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// signedIn returns a browser that has signed in with a key.
func (s *testShop) signedIn(key string) *browser {
	s.t.Helper()
	b := s.browser()
	b.post("/staff/sign-in", "key", key).want(303)
	return b
}

// with returns a copy of the browser that sends one more header. The copy shares its cookies with the original.
func (b *browser) with(name, value string) *browser {
	other := *b
	other.header = maps.Clone(b.header)
	other.header.Set(name, value)
	return &other
}

// withHTMX returns a copy of the browser that sends requests as htmx does.
func (b *browser) withHTMX() *browser { return b.with("HX-Request", "true") }

// response is an HTTP response whose body has been read.
type response struct {
	t       testing.TB
	request string // the method and the path
	status  int
	header  http.Header
	body    string
}

// nextPage returns the address of the next page, or "" if this is the last one.
func (r response) nextPage() (address string) {
	for _, found := range regexp.MustCompile(`href="([^"]*)"[^>]*>(?:More |Searching)`).FindAllStringSubmatch(r.body, 1) {
		address = html.UnescapeString(found[1])
	}
	return address
}

// text returns the visible text of the page, with tags removed and spaces collapsed.
func (r response) text() string {
	text := regexp.MustCompile(`(?s)<head>.*?</head>|<[^>]*>`).ReplaceAllString(r.body, " ")
	return strings.Join(strings.Fields(html.UnescapeString(text)), " ")
}

func (b *browser) do(r *http.Request) response {
	b.t.Helper()
	maps.Copy(r.Header, b.header)
	got := shoptest.Must(b.client.Do(r))(b.t)
	defer got.Body.Close()
	body := shoptest.Must(io.ReadAll(got.Body))(b.t)
	return response{b.t, r.Method + " " + r.URL.Path, got.StatusCode, got.Header, string(body)}
}

func (b *browser) request(method, path string, fields ...string) *http.Request {
	b.t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	r := shoptest.Must(http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(form.Encode())))(b.t)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return r
}

func (b *browser) send(method, path string, fields ...string) response {
	b.t.Helper()
	return b.do(b.request(method, path, fields...))
}

func (b *browser) get(path string) response { return b.send("GET", path) }
func (b *browser) post(path string, fields ...string) response {
	return b.send("POST", path, fields...)
}

// mustGet gets a page and checks that its status is 200 and that it contains each of the texts.
func (b *browser) mustGet(path string, texts ...string) response {
	b.t.Helper()
	return b.get(path).want(200, texts...)
}

// want checks that the response has the given status and that its text or its flash message contains each of
// the texts.
func (r response) want(status int, texts ...string) response {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("%s: got %d, want %d: %s", r.request, r.status, status, r.text())
	}
	for _, text := range texts {
		if !strings.Contains(r.text()+r.header.Get("HX-Trigger"), text) {
			r.t.Errorf("%s: the response lacks %q: %s %s", r.request, text, r.header.Get("HX-Trigger"), r.text())
		}
	}
	return r
}

// contains checks that the source of the page contains each of the parts.
func (r response) contains(parts ...string) response { return r.compareSource(true, parts) }

// lacks checks that the source of the page contains none of the parts.
func (r response) lacks(parts ...string) response { return r.compareSource(false, parts) }

func (r response) compareSource(want bool, parts []string) response {
	r.t.Helper()
	for _, part := range parts {
		if strings.Contains(r.body, part) != want {
			r.t.Errorf("%s: the page contains %q: %v, want %v: %s", r.request, part, !want, want, r.body)
		}
	}
	return r
}

// wantRedirect checks that the response redirects to the target.
func (r response) wantRedirect(target string) {
	r.t.Helper()
	if got := r.header.Get("Location") + r.header.Get("HX-Redirect"); got != target {
		r.t.Errorf("%s: got %d with a redirect to %q, want %q: %s", r.request, r.status, got, target, r.text())
	}
}
