package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"animalstore/client"
	"animalstore/internal/programtest"
)

type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	last int64
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.cert, a.key = a.sign(&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, NotAfter: time.Now().Add(time.Hour)})
	return a
}

// sign adds a new key and the next serial number to a template and signs it. The first certificate is
// self-signed.
func (a *authority) sign(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	a.last++
	template.SerialNumber, template.NotBefore, template.Subject = big.NewInt(a.last), time.Now().Add(-time.Hour), pkix.Name{CommonName: "animals"}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	encoded, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		a.t.Fatal(err)
	}
	made, err := x509.ParseCertificate(encoded)
	if err != nil {
		a.t.Fatal(err)
	}
	return made, key
}

// issue returns a new certificate for localhost and its private key, both in PEM format. The certificate
// expires after the given time.
func (a *authority) issue(validity time.Duration) (cert, key string) {
	a.t.Helper()
	made, private := a.sign(&x509.Certificate{
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(validity),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	block := func(kind string, bytes []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
	}
	return block("CERTIFICATE", made.Raw), block("PRIVATE KEY", encoded)
}

// transport returns an HTTP transport that trusts the authority and uses HTTP/2.
func (a *authority) transport() *http.Transport {
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
}

// serveTLS starts the service with TLS. If there are no args, it uses a new certificate, which it stores in
// the files cert.pem and key.pem.
func serveTLS(f *programtest.Folder, a *authority, args ...string) *programtest.Program {
	f.T.Helper()
	if len(args) == 0 {
		cert, key := a.issue(time.Hour)
		args = []string{"--tls-cert", f.Write("cert.pem", cert), "--tls-key", f.Write("key.pem", key)}
	}
	p := f.Start(args...)
	p.AwaitOutput("the line with the address", listening.MatchString)
	p.URL = "https://" + listening.FindStringSubmatch(p.Output.String())[1]
	p.Client.Transport = a.transport()
	programtest.ExpectStatus(f.T, p.Send("GET", "/livez", "", ""), http.StatusOK)
	return p
}

// serial returns the serial number of the certificate that the service presents on a new connection.
func (a *authority) serial(p *programtest.Program) int64 {
	a.t.Helper()
	connection, err := tls.Dial("tcp", strings.TrimPrefix(p.URL, "https://"), a.transport().TLSClientConfig)
	if err != nil {
		a.t.Fatal(err)
	}
	defer connection.Close()
	return connection.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

// TestTLSAcceptsModernVersionsOnly connects with HTTP/2 and HTTP/1.1, with every TLS version and without TLS.
// Only TLS 1.2 and TLS 1.3 may work. A connection that is closed immediately must not be logged, because load
// balancers open such connections as health checks.
func TestTLSAcceptsModernVersionsOnly(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	p := serveTLS(programtest.NewFolderWithKey(t), a)
	p.Create(programtest.Pet{Name: "Rex", CategoryID: 1})
	if link := p.Get("/v1/pets").Header.Get("Link"); !strings.HasPrefix(link, "<"+p.URL+"/v1/pets") {
		t.Errorf("Link is %q, want %s/v1/pets", link, p.URL)
	}
	response, err := p.Client.Get(p.URL + "/livez")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.ProtoMajor != 2 {
		t.Errorf("the response uses %s, want HTTP/2", response.Proto)
	}
	old := a.transport()
	old.ForceAttemptHTTP2, old.TLSClientConfig.NextProtos = false, []string{"http/1.1"}
	p.Client.Transport = old
	programtest.ExpectStatus(t, p.Send("GET", "/livez", "", ""), http.StatusOK)
	address := strings.TrimPrefix(p.URL, "https://")
	for version, accepted := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		config := a.transport().TLSClientConfig
		config.MinVersion, config.MaxVersion = version, version
		connection, err := tls.Dial("tcp", address, config)
		if (err == nil) != accepted {
			t.Errorf("%s: got error %v, want accepted: %v", tls.VersionName(version), err, accepted)
		}
		if err == nil {
			connection.Close()
		}
	}
	probe, err := net.Dial("tcp", address) // a load balancer's health check does the same
	if err != nil {
		t.Fatal(err)
	}
	probe.Close()
	// The server in net/http may itself respond to plain HTTP with an error.
	if plain, err := http.Get("http://" + address + "/livez"); err == nil {
		plain.Body.Close()
		if plain.StatusCode != http.StatusBadRequest {
			t.Errorf("without TLS: got %d, want 400", plain.StatusCode)
		}
	}
	p.Stop()
	if log := p.Output.String(); strings.Contains(log, "EOF") || !strings.Contains(log, "TLS handshake error") {
		t.Errorf("want handshake errors in the log, but no EOF:\n%s", log)
	}
}

// TestReplacedCertificateIsReloaded replaces the certificate files in all common ways. New connections must
// then get the new certificate.
func TestReplacedCertificateIsReloaded(t *testing.T) {
	t.Parallel()
	overwrite := func(t *testing.T, f *programtest.Folder, cert, key string) {
		f.Write("cert.pem", cert)
		f.Write("key.pem", key)
	}
	rename := func(t *testing.T, f *programtest.Folder, cert, key string) { // replace each file atomically
		for name, content := range map[string]string{"cert.pem": cert, "key.pem": key} {
			if err := os.Rename(f.Write(name+".new", content), f.Path(name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Kubernetes updates mounted secrets in the same way.
	symlink := func(t *testing.T, f *programtest.Folder, cert, key string) {
		name := fmt.Sprintf("..%d", len(f.Names()))
		if err := os.Mkdir(f.Path(name), 0o700); err != nil {
			t.Fatal(err)
		}
		overwrite(t, &programtest.Folder{T: t, Dir: f.Path(name)}, cert, key)
		for from, to := range map[string]string{"cert.pem": "..data/cert.pem", "key.pem": "..data/key.pem", "..new": name} {
			if err := os.Symlink(to, f.Path(from)); err != nil && !os.IsExist(err) {
				t.Fatal(err)
			}
		}
		if err := os.Rename(f.Path("..new"), f.Path("..data")); err != nil {
			t.Fatal(err)
		}
	}
	for name, replace := range map[string]func(t *testing.T, f *programtest.Folder, cert, key string){"overwritten": overwrite, "renamed": rename, "linked": symlink} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, f := newAuthority(t), programtest.NewFolderWithKey(t)
			cert, key := a.issue(time.Hour)
			replace(t, f, cert, key)
			p := serveTLS(f, a, "--tls-cert", "cert.pem", "--tls-key", "key.pem")
			for range 2 {
				before := a.serial(p)
				cert, key = a.issue(2 * time.Hour)
				replace(t, f, cert, key)
				programtest.Await(t, "the new certificate", func() bool { return a.serial(p) == a.last })
				if a.last == before {
					t.Fatalf("the serial number is still %d, want a new certificate", before)
				}
			}
			expires := fmt.Sprintf("animalstore_tls_certificate_expires_timestamp_seconds %s\n", seconds(a.expiry(cert)))
			if metrics := p.Get("/metrics").Body; !strings.Contains(metrics, expires) {
				t.Errorf("/metrics lacks %s", expires)
			}
		})
	}
}

func (a *authority) expiry(cert string) time.Time {
	block, _ := pem.Decode([]byte(cert))
	made, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		a.t.Fatal(err)
	}
	return made.NotAfter
}

// seconds formats a time as Unix seconds, in the same way as a metric value in /metrics.
func seconds(at time.Time) string { return strconv.FormatFloat(float64(at.Unix()), 'g', -1, 64) }

// TestBrokenCertificateIsNotLoaded replaces the certificate files with unusable ones. The service must
// continue to use the old certificate and log each failure only once.
func TestBrokenCertificateIsNotLoaded(t *testing.T) {
	t.Parallel()
	a, f := newAuthority(t), programtest.NewFolderWithKey(t)
	p := serveTLS(f, a)
	first := a.last
	awaitReloadFailing := func(want string) {
		t.Helper()
		programtest.Await(t, "animalstore_tls_reload_failing "+want, func() bool {
			return strings.Contains(p.Get("/metrics").Body, "animalstore_tls_reload_failing "+want+"\n")
		})
	}
	awaitReloadFailing("0")
	cert, _ := a.issue(time.Hour)
	_, otherKey := a.issue(time.Hour)
	for i, breakFiles := range []func(){
		// This key belongs to another certificate.
		func() { f.Write("cert.pem", cert); f.Write("key.pem", otherKey) },
		func() { f.Write("cert.pem", "no certificate") },
		func() {
			if err := os.Remove(filepath.Join(f.Dir, "key.pem")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		breakFiles()
		lines := func() int { return strings.Count(p.Output.String(), "cannot reload the certificate") }
		programtest.Await(t, "the failure to be logged", func() bool { return lines() == i+1 })
		awaitReloadFailing("1")
		p.Client.CloseIdleConnections()
		if got := a.serial(p); got != first {
			t.Errorf("got the certificate %d, want %d", got, first)
		}
		// The service checks the files every second but must not log the same failure again.
		time.Sleep(3 * time.Second)
		if lines() != i+1 {
			t.Errorf("the failure is logged again:\n%s", p.Output.String())
		}
	}
	cert, key := a.issue(time.Hour)
	f.Write("cert.pem", cert)
	f.Write("key.pem", key)
	programtest.Await(t, "the new certificate", func() bool { return a.serial(p) == a.last })
	awaitReloadFailing("0")
}

func TestInvalidTLSFlagsAreRefused(t *testing.T) {
	t.Parallel()
	a, f := newAuthority(t), programtest.NewFolderWithKey(t)
	cert, key := a.issue(time.Hour)
	_, otherKey := a.issue(time.Hour)
	f.Write("cert.pem", cert)
	f.Write("key.pem", key)
	f.Write("other.pem", otherKey)
	f.Write("text.pem", "hello\n")
	for _, c := range []struct{ cert, key, message string }{
		{"cert.pem", "", "--tls-key"}, {"", "key.pem", "--tls-cert"},
		{"missing.pem", "key.pem", "missing.pem: no such file"}, {"cert.pem", "missing.pem", "missing.pem: no such file"},
		{"cert.pem", "other.pem", "does not match"}, {"key.pem", "cert.pem", "switched"},
		{"text.pem", "key.pem", "text.pem"}, {"cert.pem", "text.pem", "text.pem"}, {".", "key.pem", "directory"},
	} {
		args := []string{"serve", "--addr", programtest.TakenAddr(t)}
		if c.cert != "" {
			args = append(args, "--tls-cert", c.cert)
		}
		if c.key != "" {
			args = append(args, "--tls-key", c.key)
		}
		programtest.ExpectRefusal(t, f.Run(args...), 2, "--tls-", c.message)
	}
	byVariable := programtest.NewFolder(t, "ANIMALSTORE_TLS_CERT=missing.pem", "ANIMALSTORE_TLS_KEY=missing.pem")
	programtest.ExpectRefusal(t, byVariable.Run("serve", "--addr", programtest.TakenAddr(t)), 2, "--tls-cert", "missing.pem")
}

// TestClientFollowsEventsOverTLS uses the Go client over TLS and HTTP/2. It sends requests and follows a
// stream that must continue after a restart.
func TestClientFollowsEventsOverTLS(t *testing.T) {
	t.Parallel()
	a, f := newAuthority(t), programtest.NewFolderWithKey(t)
	cert, key := a.issue(time.Hour)
	args := []string{"--tls-cert", f.Write("cert.pem", cert), "--tls-key", f.Write("key.pem", key)}
	p := serveTLS(f, a, args...)
	transport := a.transport()
	defer transport.CloseIdleConnections()
	c, err := client.New(p.URL+"/v1", programtest.AdminKey, client.WithHTTPClient(&http.Client{Transport: transport, Timeout: 30 * time.Second}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), programtest.WaitTimeout)
	defer cancel()
	seen := make(chan client.EventType)
	go func() {
		defer close(seen)
		for event, err := range c.Follow(ctx, "0", client.EventFilter{}) {
			if err != nil {
				return
			}
			seen <- event.Type
		}
	}()
	if _, err := c.CreatePet(ctx, client.NewPet{Name: "Rex", CategoryID: 1}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []client.EventType{"category.created", "pet.created"} {
		if got := <-seen; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	p.Stop()
	restarted := serveTLS(f, a, append(args, "--addr", strings.TrimPrefix(p.URL, "https://"))...)
	if _, err := c.CreatePet(ctx, client.NewPet{Name: "Luna", CategoryID: 1}); err != nil {
		t.Fatal(err)
	}
	if got := <-seen; got != "pet.created" {
		t.Errorf("after the restart: got %s, want pet.created", got)
	}
	cancel()
	for range seen {
	}
	restarted.Stop()
}
