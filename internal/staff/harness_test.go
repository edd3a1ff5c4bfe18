package staff

import (
	"html"
	"io"
	"log/slog"
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

// testShop is a shop with its staff pages served by a real HTTP server.
type testShop struct {
	*shoptest.Shop
	t   testing.TB
	url string
}

func newShop(t testing.TB, change ...func(*Config)) *testShop {
	t.Helper()
	s := &testShop{Shop: shoptest.Open(t, shoptest.Options{}), t: t}
	s.url = s.serve(s.Service, change...)
	return s
}

// serve starts an HTTP server with the staff pages for a service and returns its URL.
func (s *testShop) serve(service *shop.Service, change ...func(*Config)) (url string) {
	s.t.Helper()
	config := Config{Service: service, Log: s.log()}
	for _, fn := range change {
		fn(&config)
	}
	pages, err := New(config)
	if err != nil {
		s.t.Fatal(err)
	}
	server := shoptest.Serve(s.t, pages)
	s.t.Cleanup(pages.Stopping)
	return server.URL
}

func (s *testShop) log() *slog.Logger { return slog.New(slog.NewTextHandler(s.t.Output(), nil)) }

// browser is a client that keeps cookies and does not follow redirects.
type browser struct {
	t      testing.TB
	url    string
	client *http.Client
	htmx   bool // whether requests have the headers that htmx sends
}

func (s *testShop) browser() *browser {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	transport := &http.Transport{}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &browser{t: s.t, url: s.url, client: &http.Client{Jar: jar, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// signedIn returns a browser that has signed in with a key.
func (s *testShop) signedIn(key string) *browser {
	s.t.Helper()
	b := s.browser()
	if got := b.post("/staff/sign-in", "key", key); got.status != http.StatusSeeOther {
		s.t.Fatalf("sign-in returned %d: %s", got.status, got.text())
	}
	return b
}

// withHTMX returns a copy of the browser that sends requests as htmx does. The copy and the original share
// their cookies.
func (b *browser) withHTMX() *browser {
	other := *b
	other.htmx = true
	return &other
}

// response is an HTTP response whose body has been read.
type response struct {
	status int
	header http.Header
	body   string
}

// text returns the visible text of the page, with tags removed and spaces collapsed.
func (r response) text() string {
	text := regexp.MustCompile(`(?s)<head>.*?</head>|<[^>]*>`).ReplaceAllString(r.body, " ")
	return strings.Join(strings.Fields(html.UnescapeString(text)), " ")
}

func (b *browser) do(r *http.Request) response {
	b.t.Helper()
	if b.htmx {
		r.Header.Set("HX-Request", "true")
	}
	got, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return response{got.StatusCode, got.Header, string(body)}
}

func (b *browser) request(method, path string, fields ...string) *http.Request {
	b.t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return r
}

func (b *browser) get(path string) response {
	b.t.Helper()
	return b.do(b.request("GET", path))
}

// mustGet gets a page and fails the test unless its status is 200.
func (b *browser) mustGet(path string) response {
	b.t.Helper()
	got := b.get(path)
	if got.status != http.StatusOK {
		b.t.Fatalf("%s returned %d: %s", path, got.status, got.text())
	}
	return got
}

func (b *browser) post(path string, fields ...string) response {
	b.t.Helper()
	return b.do(b.request("POST", path, fields...))
}

// want checks that the response has the given status and that its text or its flash message contains each of
// the texts.
func (r response) want(t *testing.T, status int, texts ...string) response {
	t.Helper()
	if r.status != status {
		t.Errorf("got %d, want %d: %s", r.status, status, r.text())
	}
	for _, text := range texts {
		if !strings.Contains(r.text()+r.header.Get("HX-Trigger"), text) {
			t.Errorf("the response lacks %q: %s %s", text, r.header.Get("HX-Trigger"), r.text())
		}
	}
	return r
}

// wantRedirect checks that the response redirects to the target.
func (r response) wantRedirect(t *testing.T, target string) {
	t.Helper()
	if got := r.header.Get("Location") + r.header.Get("HX-Redirect"); got != target {
		t.Errorf("got %d with a redirect to %q, want %q: %s", r.status, got, target, r.text())
	}
}
