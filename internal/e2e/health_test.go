package e2e

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"animalstore/internal/programtest"
)

// TestHealthCommandReportsReady runs the health command with the same environment variables as the service,
// as containers do.
func TestHealthCommandReportsReady(t *testing.T) {
	t.Parallel()
	plain := programtest.NewFolderWithKey(t)
	p := plain.Serve()
	address := strings.TrimPrefix(p.URL, "http://")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	// All of these forms are valid listen addresses for the service.
	for _, addr := range []string{address, "0.0.0.0:" + port, ":" + port} {
		if r := programtest.NewFolder(t, "ANIMALSTORE_ADDR="+addr).Run("health"); r.Code != 0 || r.Stdout != "ready\n" || r.Stderr != "" {
			t.Errorf("health of %s: got %v, want exit code 0 and \"ready\"", addr, r)
		}
	}
	programtest.ExpectRefusal(t, programtest.NewFolder(t, "ANIMALSTORE_TLS_CERT=cert.pem").Run("health", "--addr", address), 1, "cannot reach the service")

	secure := programtest.NewFolderWithKey(t)
	address = strings.TrimPrefix(serveTLS(secure, newAuthority(t)).URL, "https://")
	if r := programtest.NewFolder(t, "ANIMALSTORE_ADDR="+address, "ANIMALSTORE_TLS_CERT=cert.pem").Run("health"); r.Code != 0 || r.Stdout != "ready\n" {
		t.Errorf("health over HTTPS: got %v, want exit code 0 and \"ready\"", r)
	}
}

func TestHealthCommandReportsFailure(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	p := f.Serve()
	hideDatabase(f, p)
	address := strings.TrimPrefix(p.URL, "http://")
	programtest.ExpectRefusal(t, programtest.NewFolder(t).Run("health", "--addr", address), 1, "not ready: ")
	p.Stop()
	programtest.ExpectRefusal(t, programtest.NewFolder(t).Run("health", "--addr", address), 1, "cannot reach the service")

	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("hello")) }))
	defer other.Close()
	programtest.ExpectRefusal(t, programtest.NewFolder(t).Run("health", "--addr", strings.TrimPrefix(other.URL, "http://")), 1, "is not an animalstore")
	programtest.ExpectRefusal(t, programtest.NewFolder(t).Run("health", "--addr", "8080"), 2, "--addr")
}
