package e2e

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"animalstore/internal/programtest"
)

// TestStaffPagesAndAPIShareOnePort uses the staff pages and the API on the same service. Neither may serve
// paths that belong to the other, and an open live page must not delay a stop.
func TestStaffPagesAndAPIShareOnePort(t *testing.T) {
	t.Parallel()
	p := programtest.NewFolderWithKey(t).Serve("--demo")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Transport: p.Client.Transport, Timeout: programtest.WaitTimeout}
	home, err := browser.PostForm(p.URL+"/staff/sign-in", url.Values{"key": {programtest.AdminKey}})
	if err != nil || home.StatusCode != 200 || home.Request.URL.Path != "/" {
		t.Fatalf("signing in: got %+v, %v, want 200 at /", home, err)
	}
	home.Body.Close()
	live, err := browser.Get(p.URL + "/staff/live")
	if err != nil || live.StatusCode != 200 {
		t.Fatalf("/staff/live: got %v, %v, want 200", live, err)
	}
	defer live.Body.Close()
	if got := p.Send("GET", "/", "", ""); got.Status != 200 || !strings.Contains(got.Body, "Sign in with your key") {
		t.Errorf("/: got %v, want 200 with the sign-in page", got)
	}
	for _, path := range []string{"/pets", "/staffpets", "/favicon.ico"} {
		if got := p.Send("GET", path, "", ""); got.Status != 404 || !strings.Contains(got.Body, `"code":"not_found"`) {
			t.Errorf("%s: got %v, want 404 not_found", path, got)
		}
	}
	if got := p.Get("/metrics").Body; !strings.Contains(got, `animalstore_staff_request_duration_seconds_count{page="sign-in"`) {
		t.Error("/metrics lacks the duration of staff requests")
	}
	p.Stop() // the open live page must not delay the stop
	if strings.Contains(p.Output.String(), programtest.AdminKey) {
		t.Error("the log contains the key")
	}
}
