package staff

import (
	"bytes"
	"html"
	"log/slog"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// linkOn returns the address of the sign-in link on a page, without the origin, and its token.
func linkOn(r response) (path, token string) {
	r.t.Helper()
	found := regexp.MustCompile(`https?://[^<]*/staff/sign-in/link\?token=(asl_\w+)`).FindStringSubmatch(html.UnescapeString(r.body))
	if found == nil {
		r.t.Fatalf("%s: there is no link: %s", r.request, r.text())
	}
	address := shoptest.Must(url.Parse(found[0]))(r.t)
	return address.RequestURI(), found[1]
}

// An administrator can get a link for any key. The first person who opens the link and confirms is signed in with that
// key.
func TestSignInLinkSignsInOnce(t *testing.T) {
	t.Parallel()
	s, admin := signIn(t)
	key := shoptest.Must(s.CreateKey(t.Context(), shop.Caller{}, shop.NewKey{Name: "Anna", Scopes: shop.RoleStaff.Scopes()}))(t)
	page := admin.post("/staff/people/1/link").want(200, "Sign in as Anna").lacks(key.Secret)
	path, token := linkOn(page)
	_, nodeURL := s.serve(shoptest.Must(s.Node(t.Context(), shop.Options{}))(t), Config{})

	// Programs that preview or scan messages open links, but do not send forms.
	for range 3 {
		s.browser().mustGet(path, "Sign in as Anna")
		s.browser().send("HEAD", path).want(200)
	}
	phone := s.browser().with("User-Agent", "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36")
	phone.url = nodeURL // continue on another node
	phone.with("Origin", "https://evil.example").post("/staff/sign-in/link", "token", token).want(403, "another site")
	phone.post("/staff/sign-in/link", "token", token).wantRedirect("/")
	phone.mustGet("/staff/devices", "Anna", "Chrome on Android", "This device")
	phone.get("/staff/people").want(403)

	thief := s.browser()
	for _, got := range []response{thief.get(path), thief.post("/staff/sign-in/link", "token", token), thief.post("/staff/sign-in/link")} {
		got.want(410, "This link no longer works", "Other ways to sign in")
		if len(got.header["Set-Cookie"]) > 0 {
			t.Errorf("%s: got the cookie %v", got.request, got.header["Set-Cookie"])
		}
	}
	admin.post("/staff/people/404/link").want(404, "no longer has access")
}

func TestSignInLinkExpiresAfterTenMinutes(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	path, token := linkOn(s.signedIn(s.Key(t, shop.PetsRead).Secret).post("/staff/devices/link").want(200, "Sign in on your phone"))
	s.Clock.Forward(10*time.Minute - time.Second)
	s.browser().mustGet(path, "Sign in as")
	s.Clock.Forward(time.Second)
	s.browser().get(path).want(410, "This link no longer works")
	s.browser().post("/staff/sign-in/link", "token", token).want(410, "This link no longer works")
}

// The token of a link appears neither in the log nor in a Referer header.
func TestSignInLinkIsNotLogged(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var log bytes.Buffer
	pages := shoptest.Must(New(Config{Service: s.Service, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}))(t)
	defer pages.Stopping()
	server := shoptest.Serve(t, pages)
	b := s.browser()
	b.url = server.URL
	b.post("/staff/sign-in", "key", configuredKey).want(303)
	path, token := linkOn(b.post("/staff/devices/link"))
	phone := s.browser()
	phone.url = server.URL
	if policy := phone.mustGet(path).header.Get("Referrer-Policy"); policy != "strict-origin" {
		t.Errorf("the page has the referrer policy %q, want strict-origin", policy)
	}
	phone.get("/staff/sign-in/link/" + token).want(404) // a token in the wrong place is not logged, either
	phone.post("/staff/sign-in/link", "token", token).want(303)
	server.Close() // waits until every request has been logged
	for _, want := range []string{
		`msg="sign-in link created" request=\w+ key=configured by=configured`, `msg="signed in" request=\w+ key=configured with=link device="Unknown device"`,
		`method=POST path=/staff/sign-in/link operation=staff.sign-in-link status=303 .* key=configured`,
	} {
		if !regexp.MustCompile(want).MatchString(log.String()) {
			t.Errorf("the log lacks %s:\n%s", want, log.String())
		}
	}
	if strings.Contains(log.String(), strings.TrimPrefix(token, "asl_")) {
		t.Errorf("the log contains the token %s:\n%s", token, log.String())
	}
}

// A client that guesses sign-in links is slowed down. From the same network address, everybody can still sign in with a
// key or with a link that works.
func TestGuessingSignInLinksIsLimited(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.browser()
	path, token := linkOn(s.signedIn(s.Key(t, shop.PetsRead).Secret).post("/staff/devices/link"))
	most := s.pages.Limits.FailedSignIns.Burst
	for i := 0; ; i++ {
		got := b.get("/staff/sign-in/link?token=asl_" + strings.Repeat("A", 26))
		if got.status == 429 {
			if i < most || got.header.Get("Retry-After") == "" {
				t.Errorf("refused after %d attempts with %v", i, got.header)
			}
			break
		}
		got.want(410)
		if i > 100*most {
			t.Fatalf("%d attempts were not refused", i)
		}
	}
	b.post("/staff/sign-in/link", "token", "asl_"+strings.Repeat("A", 26)).want(429)
	s.browser().mustGet(path, "Sign in as")
	s.browser().post("/staff/sign-in/link", "token", token).wantRedirect("/")
	s.signedIn(configuredKey)
}

// A sign-in link begins with the public URL or, if none is configured, with the address that the request used.
func TestSignInLinkUsesTheAddressOfThePages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ public, proto, want string }{
		{"https://pets.example.com/shop/v1", "", "https://pets.example.com/shop/staff/sign-in/link?token=asl_"},
		{"", "https", "https://127.0.0.1:"},
		{"", "", "http://127.0.0.1:"},
	} {
		s := newShop(t, Config{PublicURL: c.public})
		b := s.browser()
		cookie, _, _ := strings.Cut(b.post("/staff/sign-in", "key", configuredKey).header.Get("Set-Cookie"), ";")
		page := b.with("Cookie", cookie).with("X-Forwarded-Proto", c.proto).post("/staff/devices/link").want(200).contains(c.want)
		const note = "works only on this computer"
		if local := strings.Contains(page.text(), note); local != (c.public == "") {
			t.Errorf("%+v: the page says that the link %s: %v", c, note, local)
		}
	}
}

// The QR code has an empty border of four modules, and a finder pattern with its light margin in three corners.
func TestQRCodeHasAQuietZoneAndFinderPatterns(t *testing.T) {
	t.Parallel()
	svg := string(shoptest.Must(qrCode("https://pets.example.com/staff/sign-in/link?token=asl_ABCDEFGHIJKLMNOPQRSTUVWXYZ", "a <code>"))(t))
	size := shoptest.Must(strconv.Atoi(regexp.MustCompile(`viewBox="0 0 (\d+) `).FindStringSubmatch(svg)[1]))(t)
	dark := map[[2]int]bool{}
	for _, run := range regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1h-(\d+)z`).FindAllStringSubmatch(svg, -1) {
		x, y, length := shoptest.Must(strconv.Atoi(run[1]))(t), shoptest.Must(strconv.Atoi(run[2]))(t), shoptest.Must(strconv.Atoi(run[3]))(t)
		for i := range length {
			dark[[2]int{x + i, y}] = true
		}
	}
	for at := range dark {
		if at[0] < quietZone || at[1] < quietZone || at[0] >= size-quietZone || at[1] >= size-quietZone {
			t.Errorf("the module %v of %d is in the border", at, size)
		}
	}
	finder := []string{"#######.", "#.....#.", "#.###.#.", "#.###.#.", "#.###.#.", "#.....#.", "#######.", "........"}
	last := size - 1 - quietZone
	for y, row := range finder {
		for x, want := range row {
			for _, at := range [][2]int{{quietZone + x, quietZone + y}, {last - x, quietZone + y}, {quietZone + x, last - y}} {
				if dark[at] != (want == '#') {
					t.Errorf("the module %v of %d is dark: %v", at, size, dark[at])
				}
			}
		}
	}
}
