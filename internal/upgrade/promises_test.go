package upgrade

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"animalstore/internal/programtest"
	"animalstore/internal/workload"
)

// promises contains everything that a node has issued to its clients, such as keys and ETags. All of it must remain
// valid after an upgrade.
type promises struct {
	load                 *workload.Load
	created              programtest.Response // the response to the first call of addKept
	etag                 string
	nextPage             string // the path and query of the page that begins with the kept animal
	key, oldKey, revoked string // a rotated key, its secret from before the rotation, and a revoked key
	session              string // the cookie of a signed-in user
}

// addKept adds the animal that is expected to survive the upgrade. If it was added before, addKept repeats the
// request with the same idempotency key.
func addKept(node *programtest.Program) programtest.Response {
	node.T.Helper()
	a := node.Send("POST", "/v1/pets", programtest.AdminKey, `{"name":"Kept","categoryId":424242,"status":"pending"}`, "Idempotency-Key: kept")
	programtest.ExpectStatus(node.T, a, http.StatusCreated)
	return a
}

// keepPromises makes a node issue keys, a session, a cursor, an ETag and an idempotency record.
func keepPromises(l *workload.Load, node *programtest.Program) *promises {
	t := node.T
	t.Helper()
	p := &promises{load: l, created: addKept(node)}
	location := p.created.Header.Get("Location")
	p.etag = node.Get(location).Header.Get("ETag")
	newer, _ := node.Create(programtest.Pet{Name: "Newer", CategoryID: 424242})
	l.RecordPet("Kept", programtest.Decode[programtest.Pet](t, p.created.Body).ID)
	l.RecordPet("Newer", newer.ID)
	link := programtest.NextPage.FindStringSubmatch(node.Get("/v1/pets?limit=1").Header.Get("Link"))
	next, err := url.Parse(link[1])
	if err != nil {
		t.Fatal(err)
	}
	p.nextPage = next.RequestURI()
	type key struct {
		ID  int64
		Key string
	}
	issue := func(path string, status int) key {
		t.Helper()
		a := node.Send("POST", path, programtest.AdminKey, `{"name":"kept","scopes":["pets:read"]}`)
		programtest.ExpectStatus(t, a, status)
		return programtest.Decode[key](t, a.Body)
	}
	rotated, revoked := issue("/v1/keys", http.StatusCreated), issue("/v1/keys", http.StatusCreated)
	p.oldKey, p.revoked = rotated.Key, revoked.Key
	p.key = issue(fmt.Sprintf("/v1/keys/%d/rotate", rotated.ID), http.StatusOK).Key
	programtest.ExpectStatus(t, node.Send("DELETE", fmt.Sprint("/v1/keys/", revoked.ID), programtest.AdminKey, ""), http.StatusNoContent)
	p.session = signIn(node)
	return p
}

// signIn signs in on the staff pages and returns the cookie.
func signIn(node *programtest.Program) string {
	node.T.Helper()
	browser := *node.Client
	browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := browser.PostForm(node.URL+"/staff/sign-in", url.Values{"key": {programtest.AdminKey}})
	if err != nil {
		node.T.Fatal(err)
	}
	response.Body.Close()
	if len(response.Cookies()) != 1 {
		node.T.Fatalf("signing in: got %s and the cookies %v, want one cookie", response.Status, response.Cookies())
	}
	cookie := response.Cookies()[0]
	return cookie.Name + "=" + cookie.Value
}

// check reports every promise that a node does not keep.
func (p *promises) check(node *programtest.Program) {
	node.T.Helper()
	if a := addKept(node); a.Body != p.created.Body || a.Header.Get("Idempotency-Replayed") != "true" {
		p.load.Problem("the repeated request got %v, want the first response %v", a, p.created)
	}
	if etag := node.Get(p.created.Header.Get("Location")).Header.Get("ETag"); etag != p.etag {
		p.load.Problem("the ETag of an unchanged animal is %s, want %s", etag, p.etag)
	}
	if a := node.Get(p.nextPage); !strings.Contains(a.Body, strings.TrimSpace(p.created.Body)) {
		p.load.Problem("the next page is %v, want it to contain %v", a, p.created)
	}
	for key, want := range map[string]int{p.key: http.StatusOK, p.oldKey: http.StatusOK, p.revoked: http.StatusUnauthorized} {
		if a := node.Send("GET", "/v1/keys/current", key, ""); a.Status != want {
			p.load.Problem("a key got %v, want status %d", a, want)
		}
	}
	if a := node.Send("GET", "/", "", "", "Cookie: "+p.session); !strings.Contains(a.Body, "Sign out") {
		p.load.Problem("the session has ended: %v", a)
	}
}
