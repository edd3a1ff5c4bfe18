package e2e

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestHealthCommandReportsReady runs the health command with the same environment variables as the service,
// as containers do.
func TestHealthCommandReportsReady(t *testing.T) {
	t.Parallel()
	plain := newFolderWithKey(t)
	p := plain.serve()
	address := strings.TrimPrefix(p.url, "http://")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	// All of these forms are valid listen addresses for the service.
	for _, addr := range []string{address, "0.0.0.0:" + port, ":" + port} {
		if r := newFolder(t, "ANIMALSTORE_ADDR="+addr).run("health"); r.code != 0 || r.stdout != "ready\n" || r.stderr != "" {
			t.Errorf("health of %s: got %v, want exit code 0 and \"ready\"", addr, r)
		}
	}
	expectRefusal(t, newFolder(t, "ANIMALSTORE_TLS_CERT=cert.pem").run("health", "--addr", address), 1, "cannot reach the service")

	secure := newFolderWithKey(t)
	address = strings.TrimPrefix(secure.serveTLS(newAuthority(t)).url, "https://")
	if r := newFolder(t, "ANIMALSTORE_ADDR="+address, "ANIMALSTORE_TLS_CERT=cert.pem").run("health"); r.code != 0 || r.stdout != "ready\n" {
		t.Errorf("health over HTTPS: got %v, want exit code 0 and \"ready\"", r)
	}
}

func TestHealthCommandReportsFailure(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	p := f.serve()
	f.hideDatabase(p)
	address := strings.TrimPrefix(p.url, "http://")
	expectRefusal(t, newFolder(t).run("health", "--addr", address), 1, "not ready: ")
	p.stop()
	expectRefusal(t, newFolder(t).run("health", "--addr", address), 1, "cannot reach the service")

	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("hello")) }))
	defer other.Close()
	expectRefusal(t, newFolder(t).run("health", "--addr", strings.TrimPrefix(other.URL, "http://")), 1, "is not an animalstore")
	expectRefusal(t, newFolder(t).run("health", "--addr", "8080"), 2, "--addr")
}
