package e2e

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
)

// staffBrowser is somebody who signs in on the staff pages of a node.
func staffBrowser(t *testing.T, p *program, key string) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Jar: jar, Transport: transport}
	got, err := client.PostForm(p.url+"/staff/sign-in", url.Values{"key": {key}})
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if _, err := io.Copy(io.Discard, got.Body); err != nil { // at its end the page is counted
		t.Fatal(err)
	}
	if got.StatusCode != 200 || got.Request.URL.Path != "/" {
		t.Fatalf("signing in ended with %d at %s", got.StatusCode, got.Request.URL)
	}
	return client
}

// The pages and the interface share the program, and neither takes the other's paths.
func TestStaffPagesAndAPIShareOnePort(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	p := f.serve("--demo")
	client := staffBrowser(t, p, adminKey)
	live, err := client.Get(p.url + "/staff/live")
	if err != nil || live.StatusCode != 200 {
		t.Fatalf("%v %v", live, err)
	}
	defer live.Body.Close()
	if got := p.send("GET", "/", "", ""); got.status != 200 || !strings.Contains(got.body, "Sign in with your key") {
		t.Errorf("/ got %d %s", got.status, got.body)
	}
	for _, path := range []string{"/pets", "/staffpets", "/favicon.ico"} {
		if got := p.send("GET", path, "", ""); got.status != 404 || !strings.Contains(got.body, `"code":"not_found"`) {
			t.Errorf("%s got %d %s", path, got.status, got.body)
		}
	}
	if got := p.get("/metrics").body; !strings.Contains(got, `animalstore_staff_request_duration_seconds_count{page="today",status="200"}`) {
		t.Error("the pages are not in the metrics")
	}
	p.stop() // a page that follows what happens does not hold it up
	if strings.Contains(p.output.String(), adminKey) {
		t.Error("the key is in the log")
	}
}

// Who has signed in at one node is known at the others, and a key that is taken back ends the session everywhere.
func TestNodesShareSessions(t *testing.T) {
	t.Parallel()
	f, _ := newSharedFolder(t)
	nodes := f.serveNodes(2)
	made := nodes[0].send("POST", "/v1/keys", adminKey, `{"name":"till","scopes":["pets:read"]}`)
	expectStatus(t, made, 201)
	_, rest, _ := strings.Cut(made.body, `"key":"`)
	secret, _, _ := strings.Cut(rest, `"`)
	client := staffBrowser(t, nodes[0], secret) // browsers do not look at the port
	landingPath := func(node *program) string {
		t.Helper()
		got, err := client.Get(node.url + "/staff/pets")
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		return got.Request.URL.Path
	}
	for _, node := range nodes {
		if path := landingPath(node); path != "/staff/pets" {
			t.Errorf("a node sent it to %s", path)
		}
	}
	admin := staffBrowser(t, nodes[1], adminKey)
	expectStatus(t, nodes[0].send("POST", "/v1/pets", adminKey, `{"name":"Rex","categoryId":1,"status":"available"}`), 201)
	expectStatus(t, nodes[0].send("POST", "/v1/store/orders", adminKey, `{"petId":1}`), 201)
	for _, path := range []string{"/", "/staff/pets?status=pending&category=1", "/staff/pets/1", "/staff/orders", "/staff/categories", "/staff/keys", "/staff/webhooks", "/staff/export/animals.csv"} {
		got, err := admin.Get(nodes[0].url + path)
		if err != nil || got.StatusCode != 200 {
			t.Fatalf("%s got %v %v", path, got, err)
		}
		got.Body.Close()
	}
	expectStatus(t, nodes[1].send("DELETE", "/v1/keys/1", adminKey, ""), 204)
	for _, node := range nodes {
		await(t, "the end of the session", func() bool { return landingPath(node) == "/staff/sign-in" })
	}
}
