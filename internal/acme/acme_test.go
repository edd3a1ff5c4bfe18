package acme

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"animalstore/internal/acmetest"
)

// running is a manager that obtains certificates from a real authority.
type running struct {
	*Manager
	obtained chan time.Time
	failed   chan error
}

// newRunning returns a manager for the domains. The manager retries without a pause. Whichever domain the authority
// connects to, it reaches this manager.
func newRunning(t *testing.T, a *acmetest.Authority, dir string, domains ...string) *running {
	t.Helper()
	r := &running{obtained: make(chan time.Time), failed: make(chan error)}
	r.Manager = New(Config{
		Domains: domains, Directory: a.Directory, Email: "ann@example.com", Folder: NewFolder(dir, a.Directory),
		Obtained: func(expires time.Time) { r.obtained <- expires },
		Report:   func(err error, _ time.Duration) { r.failed <- err },
	})
	r.client, r.delays = a.Client, []time.Duration{0}
	if err := r.Folder.Create(); err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{NextProtos: []string{Protocol},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) { return r.Challenge(hello.ServerName), nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func(c net.Conn) {
				c.(*tls.Conn).Handshake()
				c.Close()
			}(connection)
		}
	}()
	a.Lead(listener.Addr().String())
	return r
}

// start runs the manager until the returned function is called.
func (r *running) start(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// A failure of the authority is reported, and the next attempt succeeds.
func TestFailedOrderIsRepeated(t *testing.T) {
	t.Parallel()
	a := acmetest.NewAuthority(t, 90*86400)
	a.Broken.Store(true)
	r := newRunning(t, a, t.TempDir(), "pets.example.com")
	stop := r.start(t)
	defer stop()
	if err := <-r.failed; !strings.Contains(err.Error(), "cannot register with the authority") {
		t.Errorf("got %v, want the authority in it", err)
	}
	a.Broken.Store(false)
	for obtained := false; !obtained; {
		select {
		case <-r.failed: // this attempt began while the authority was broken
		case <-r.obtained:
			obtained = true
		}
	}
	if pair, err := r.Folder.certificate(); err != nil || pair.Leaf.VerifyHostname("pets.example.com") != nil {
		t.Errorf("the stored certificate: got %v, want one for pets.example.com", err)
	}
	if r.Challenge("pets.example.com") != nil {
		t.Error("the answer to the challenge is still there")
	}
}

// A domain that does not point to the service gets no certificate, and the error names the domain.
func TestUnconfirmedDomainIsReported(t *testing.T) {
	t.Parallel()
	a := acmetest.NewAuthority(t, 90*86400)
	r := newRunning(t, a, t.TempDir(), "pets.example.com")
	a.Lead("127.0.0.1:1")
	_, err := r.obtain(t.Context())
	if err == nil || !strings.Contains(err.Error(), "cannot confirm that pets.example.com leads to this service") {
		t.Errorf("got %v, want the domain in it", err)
	}
}

// A stored certificate is kept until the last third of its life, unless it lacks a domain or is unusable.
func TestCertificateIsRenewedInTime(t *testing.T) {
	t.Parallel()
	a, dir := acmetest.NewAuthority(t, 90*86400), t.TempDir()
	renewed := func(orders int64, domains ...string) *running {
		t.Helper()
		r := newRunning(t, a, dir, domains...)
		r.Obtained = func(time.Time) {}
		before := a.Orders.Load()
		if err := r.renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := a.Orders.Load() - before; got != orders {
			t.Errorf("%q: got %d orders, want %d", domains, got, orders)
		}
		return r
	}
	renewed(1, "pets.example.com")
	r := renewed(0, "pets.example.com")
	renewed(1, "pets.example.com", "www.example.com")
	renewed(0, "www.example.com")
	if err := os.WriteFile(r.Folder.CertificateFile(), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	renewed(1, "pets.example.com")
	pair, err := r.Folder.certificate()
	if err != nil {
		t.Fatal(err)
	}
	if left := pair.Leaf.NotAfter.Sub(renewalTime(pair)).Round(time.Hour); left != 30*24*time.Hour {
		t.Errorf("a certificate for 90 days is renewed %s before it expires, want 720h", left)
	}
	pair.Leaf.NotBefore = time.Now().Add(-3 * time.Hour)
	pair.Leaf.NotAfter = time.Now().Add(time.Hour)
	if time.Now().Before(renewalTime(pair)) {
		t.Error("a certificate in the last third of its life is not renewed")
	}
}

// Each authority has its own folder inside the cache, whatever its URL looks like.
func TestFoldersOfAuthoritiesDiffer(t *testing.T) {
	t.Parallel()
	for directory, want := range map[string]string{
		DefaultDirectory:                "acme-v02.api.letsencrypt.org_directory",
		"https://ca.example:14000/dir":  "ca.example_14000_dir",
		"https://ca.example/../../etc/": "ca.example_.._.._etc",
	} {
		if got := NewFolder("cache", directory).CertificateFile(); got != filepath.Join("cache", want, "certificate.pem") {
			t.Errorf("%s: got %s, want %s in cache", directory, got, want)
		}
	}
}
