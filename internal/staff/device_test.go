package staff

import (
	"net/http"
	"regexp"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// sessionIDs returns the ids of the sessions that a page lists, in the order of the page.
func sessionIDs(r response) (ids []string) {
	for _, found := range regexp.MustCompile(`name="session" value="(\w+)"`).FindAllStringSubmatch(r.body, -1) {
		ids = append(ids, found[1])
	}
	return ids
}

// Users can see and end their own sessions. An administrator can see and end all sessions.
func TestSessionsAreListedAndEnded(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	key := func(name string) string {
		return shoptest.Must(s.CreateKey(t.Context(), shop.Caller{}, shop.NewKey{Name: name, Scopes: shop.RoleStaff.Scopes()}))(t).Secret
	}
	signIn := func(secret, userAgent string) *browser {
		b := s.browser().with("User-Agent", userAgent)
		b.post("/staff/sign-in", "key", secret).want(303)
		s.Clock.Forward(time.Minute) // the list is sorted by time, so the sessions need different times
		return b
	}
	anna := key("Anna")
	phone := signIn(anna, "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1")
	till := signIn(anna, "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:128.0) Gecko/20100101 Firefox/128.0")
	ben := signIn(key("Ben"), "curl/8.0")
	admin := s.signedIn(configuredKey)

	own := till.mustGet("/staff/devices", "Anna (Staff)", "Firefox on Windows This device", "Safari on iPhone")
	if ids := sessionIDs(own); len(ids) != 2 {
		t.Errorf("Anna sees %d sessions, want 2: %s", len(ids), own.text())
	}
	all := admin.mustGet("/staff/devices", "Other people’s devices", "Ben Unknown device", "Anna Firefox on Windows", "Anna Safari on iPhone")
	// The administrator's own session comes first. The others follow, most recently used first: Anna's till, Ben and
	// Anna's phone.
	ids := sessionIDs(all)
	if len(ids) != 4 {
		t.Fatalf("the administrator sees %d sessions, want 4: %s", len(ids), all.text())
	}
	till.post("/staff/devices/end", "session", ids[2]).want(404, "no longer signed in")
	ben.mustGet("/staff/devices")
	till.post("/staff/devices/end", "session", ids[3]).wantRedirect("/staff/devices")
	phone.get("/staff/pets").wantRedirect("/staff/sign-in?next=%2Fstaff%2Fpets")
	lost := signIn(anna, "curl/8.0")
	till.mustGet("/staff/devices", "Sign out all others")
	till.post("/staff/devices/end-others").wantRedirect("/staff/devices")
	lost.get("/staff/pets").wantRedirect("/staff/sign-in?next=%2Fstaff%2Fpets")
	till.mustGet("/staff/devices", "1 other device signed out.").lacks("Sign out all others")
	ben.mustGet("/staff/devices")
	admin.post("/staff/devices/end", "session", ids[2]).wantRedirect("/staff/devices")
	ben.get("/staff/pets").wantRedirect("/staff/sign-in?next=%2Fstaff%2Fpets")
	got := till.post("/staff/devices/end", "session", ids[1]) // the till ends its own session
	got.wantRedirect("/staff/sign-in")
	if cookie := shoptest.Must(http.ParseSetCookie(got.header.Get("Set-Cookie")))(t); cookie.MaxAge >= 0 {
		t.Errorf("the cookie stays: %v", cookie)
	}
}

func TestKeepMeSignedIn(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for keep, want := range map[string]int{"": 43200, "1": 30 * 86400} {
		b := s.browser()
		got := b.post("/staff/sign-in", "key", configuredKey, "keep", keep)
		cookie := shoptest.Must(http.ParseSetCookie(got.header.Get("Set-Cookie")))(t)
		if cookie.MaxAge != want {
			t.Errorf("keep=%q: the cookie lasts for %d s, want %d", keep, cookie.MaxAge, want)
		}
		s.Clock.Forward(13 * time.Hour)
		again := b.get("/staff/devices")
		if stays := again.status == http.StatusOK; stays != (keep != "") {
			t.Errorf("keep=%q: after 13 hours, got %d", keep, again.status)
		}
	}
}

// If a browser signs in again, its earlier session ends, so it has only one session.
func TestSigningInAgainEndsTheEarlierSession(t *testing.T) {
	t.Parallel()
	_, b := signIn(t)
	b.post("/staff/sign-in", "key", configuredKey).want(303)
	if ids := sessionIDs(b.mustGet("/staff/devices")); len(ids) != 1 {
		t.Errorf("the browser has %d sessions, want 1", len(ids))
	}
}

func TestDeviceNames(t *testing.T) {
	t.Parallel()
	const webKit, chrome = "AppleWebKit/537.36 (KHTML, like Gecko) ", "Chrome/140.0.0.0 "
	for userAgent, want := range map[string]string{
		"": "Unknown device", "curl/8.0": "Unknown device",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) " + webKit + chrome + "Safari/537.36":                                         "Chrome on Windows",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) " + webKit + chrome + "Safari/537.36 Edg/140.0.0.0":                           "Edge on Windows",
		"Mozilla/5.0 (X11; Linux x86_64) " + webKit + chrome + "Safari/537.36 OPR/120.0.0.0":                                     "Opera on Linux",
		"Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) " + webKit + chrome + "Safari/537.36":                                          "Chrome on ChromeOS",
		"Mozilla/5.0 (Linux; Android 10; K) " + webKit + "SamsungBrowser/28.0 " + chrome + "Mobile Safari/537.36":                "Samsung Internet on Android",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15":  "Safari on Mac",
		"Mozilla/5.0 (iPad; CPU OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/140.0 Mobile Safari/604.1": "Chrome on iPad",
		"Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0":                                                   "Firefox on Android",
		"NewBrowser/1.0 (Linux)": "Browser on Linux",
	} {
		if got := deviceName(userAgent); got != want {
			t.Errorf("%q is %q, want %q", userAgent, got, want)
		}
	}
}
