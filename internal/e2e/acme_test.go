package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"animalstore/internal/acmetest"
	"animalstore/internal/programtest"
)

const quarter = 90 * 24 * 60 * 60 // the validity of the certificates, in seconds

// dial opens a TLS connection to a service, asks for the given server name, and returns the certificate that the
// service presents. If roots is nil, dial accepts every certificate.
func dial(p *programtest.Program, roots *x509.CertPool, name string, protocols ...string) (*x509.Certificate, error) {
	connection, err := tls.Dial("tcp", strings.TrimPrefix(p.URL, "https://"), &tls.Config{
		RootCAs: roots, InsecureSkipVerify: roots == nil, ServerName: name, NextProtos: protocols})
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	return connection.ConnectionState().PeerCertificates[0], nil
}

// serveACME starts a service that gets its certificate from the authority.
func serveACME(f *programtest.Folder, a *acmetest.Authority, args ...string) *programtest.Program {
	f.T.Helper()
	p := f.Start(append([]string{"--acme-domain", "pets.example.com,WWW.example.com", "--acme-directory", a.Directory}, args...)...)
	address := p.AwaitAddress()
	a.Lead(address)
	p.URL = "https://" + address
	p.Client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.Roots, ServerName: "pets.example.com"}, ForceAttemptHTTP2: true}
	return p
}

func awaitCertificate(p *programtest.Program, roots *x509.CertPool) (got *x509.Certificate) {
	p.T.Helper()
	programtest.Await(p.T, "a trusted certificate", func() bool {
		var err error
		got, err = dial(p, roots, "pets.example.com")
		return err == nil
	})
	return got
}

// TestServiceObtainsCertificate uses a real authority, Pebble. The service must obtain a certificate for its two
// domains and behave in the same way as with a certificate from files. It must refuse other names without asking the
// authority, and use the certificate again after a restart.
func TestServiceObtainsCertificate(t *testing.T) {
	t.Parallel()
	a := acmetest.NewAuthority(t, quarter)
	f := programtest.NewFolderWithKey(t, "SSL_CERT_FILE="+a.TrustFile)
	args := []string{"--acme-email", "ann@example.com", "--public-url", "https://pets.example.com/v1"}
	p := serveACME(f, a, args...)
	first := awaitCertificate(p, a.Roots)
	ready := p.Send("GET", "/readyz", "", "")
	programtest.ExpectStatus(t, ready, http.StatusOK)
	if ready.Header.Get("Strict-Transport-Security") == "" {
		t.Error("/readyz: got no Strict-Transport-Security")
	}
	if _, err := dial(p, a.Roots, "www.example.com"); err != nil {
		t.Errorf("the second domain: %v", err)
	}
	for _, name := range []string{"other.example.com", "example.com", "a.pets.example.com"} {
		if got, err := dial(p, nil, name); err == nil {
			t.Errorf("%s: got a certificate for %q, want a refusal", name, got.DNSNames)
		}
	}
	if _, err := dial(p, nil, "pets.example.com", "acme-tls/1"); err == nil {
		t.Error("a challenge without an order: got a handshake, want a refusal")
	}
	if got := p.Metric("animalstore_tls_certificate_expires_timestamp_seconds"); int64(got) != first.NotAfter.Unix() {
		t.Errorf("the metric for the expiry: got %.0f, want %d", got, first.NotAfter.Unix())
	}
	if got, want := p.Metric("animalstore_tls_certificate_lifetime_seconds"), first.NotAfter.Sub(first.NotBefore); got != want.Seconds() {
		t.Errorf("the metric for the lifetime: got %.0f, want %.0f", got, want.Seconds())
	}
	health := f.Run("health", "--addr", strings.TrimPrefix(p.URL, "https://"), "--acme-domain", "pets.example.com")
	if health.Code != 0 {
		t.Errorf("health: got %v, want ready", health)
	}
	p.Stop()
	expectPrivate(t, filepath.Join(f.Dir, "animalstore.db-acme"))
	p = serveACME(f, a, args...)
	if again := awaitCertificate(p, a.Roots); !again.Equal(first) {
		t.Error("the restarted service has another certificate")
	}
	p.Stop()
	if orders := a.Orders.Load(); orders != 1 {
		t.Errorf("orders: got %d, want 1", orders)
	}
}

// expectPrivate checks that only the owner can access a folder and everything in it, and that the folder contains
// two files.
func expectPrivate(t *testing.T, folder string) {
	t.Helper()
	files := 0
	must(t, filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: got the mode %s, want no access for others", path, info.Mode())
		}
		if !entry.IsDir() {
			files++
		}
		return err
	}))
	if files != 2 {
		t.Errorf("%s: got %d files, want the certificate and the key of the account", folder, files)
	}
}

// TestServiceRunsWithoutAuthority starts the service while the authority is failing. The service must be healthy,
// refuse clients because it has no certificate, and log why.
func TestServiceRunsWithoutAuthority(t *testing.T) {
	t.Parallel()
	a := acmetest.NewAuthority(t, quarter)
	f := programtest.NewFolderWithKey(t, "SSL_CERT_FILE="+a.TrustFile)
	a.Broken.Store(true)
	p := serveACME(f, a, "--acme-cache", "certificates")
	p.AwaitOutput("the failure", func(log string) bool { return strings.Contains(log, `msg="cannot obtain a certificate"`) })
	if _, err := dial(p, nil, "pets.example.com"); err == nil {
		t.Error("a client got a certificate that nobody trusts")
	}
	health := f.Run("health", "--addr", strings.TrimPrefix(p.URL, "https://"), "--acme-domain", "pets.example.com")
	if health.Code != 0 {
		t.Errorf("health: got %v, want ready", health)
	}
	a.Broken.Store(false)
	p.Stop()
	p = serveACME(f, a, "--acme-cache", "certificates")
	awaitCertificate(p, a.Roots)
	programtest.ExpectStatus(t, p.Send("GET", "/readyz", "", ""), http.StatusOK)
}
