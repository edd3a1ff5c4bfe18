package e2e

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"animalstore/internal/programtest"
)

// staffBrowser returns an HTTP client that is signed in to the staff pages on a node.
func staffBrowser(t *testing.T, p *programtest.Program, key string) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Jar: jar, Transport: transport}
	got, err := client.PostForm(p.URL+"/staff/sign-in", url.Values{"key": {key}})
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	// The service counts the request only after it has sent the whole page.
	if _, err := io.Copy(io.Discard, got.Body); err != nil {
		t.Fatal(err)
	}
	if got.StatusCode != 200 || got.Request.URL.Path != "/" {
		t.Fatalf("signing in ended with %d at %s, want 200 at /", got.StatusCode, got.Request.URL)
	}
	return client
}

// TestStaffPagesAndAPIShareOnePort uses the staff pages and the API on the same service. Neither may serve
// paths that belong to the other, and an open live page must not delay a stop.
func TestStaffPagesAndAPIShareOnePort(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	p := f.Serve("--demo")
	client := staffBrowser(t, p, programtest.AdminKey)
	live, err := client.Get(p.URL + "/staff/live")
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
	if got := p.Get("/metrics").Body; !strings.Contains(got, `animalstore_staff_request_duration_seconds_count{page="today",status="200"}`) {
		t.Error("/metrics lacks the duration of staff requests")
	}
	p.Stop() // the open live page must not delay the stop
	if strings.Contains(p.Output.String(), programtest.AdminKey) {
		t.Error("the log contains the key")
	}
}

// TestNodesShareSessions signs in on one node. The session must work on all nodes until the key is revoked.
func TestNodesShareSessions(t *testing.T) {
	t.Parallel()
	f, _ := newSharedFolder(t)
	nodes := f.ServeNodes(2)
	made := nodes[0].Send("POST", "/v1/keys", programtest.AdminKey, `{"name":"till","scopes":["pets:read"]}`)
	programtest.ExpectStatus(t, made, 201)
	_, rest, _ := strings.Cut(made.Body, `"key":"`)
	secret, _, _ := strings.Cut(rest, `"`)
	// The client also sends the cookie to the other node, because cookies do not depend on the port.
	client := staffBrowser(t, nodes[0], secret)
	landingPath := func(node *programtest.Program) string {
		t.Helper()
		got, err := client.Get(node.URL + "/staff/pets")
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		return got.Request.URL.Path
	}
	for _, node := range nodes {
		if path := landingPath(node); path != "/staff/pets" {
			t.Errorf("/staff/pets redirects to %s on a node, want no redirect", path)
		}
	}
	admin := staffBrowser(t, nodes[1], programtest.AdminKey)
	programtest.ExpectStatus(t, nodes[0].Send("POST", "/v1/pets", programtest.AdminKey, `{"name":"Rex","categoryId":1,"status":"available"}`), 201)
	programtest.ExpectStatus(t, nodes[0].Send("POST", "/v1/store/orders", programtest.AdminKey, `{"petId":1}`), 201)
	for _, path := range []string{"/", "/staff/pets?status=pending&category=1", "/staff/pets/1", "/staff/orders", "/staff/categories", "/staff/keys", "/staff/webhooks", "/staff/export/animals.csv"} {
		got, err := admin.Get(nodes[0].URL + path)
		if err != nil || got.StatusCode != 200 {
			t.Fatalf("%s: got %v, %v, want 200", path, got, err)
		}
		got.Body.Close()
	}
	programtest.ExpectStatus(t, nodes[1].Send("DELETE", "/v1/keys/1", programtest.AdminKey, ""), 204)
	for _, node := range nodes {
		programtest.Await(t, "the session to end", func() bool { return landingPath(node) == "/staff/sign-in" })
	}
}
