// Package acmetest provides a certificate authority for tests. The authority is Pebble, the ACME test server of Let's
// Encrypt.
package acmetest

import (
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"
)

// Authority issues a certificate for any domain if the service at the authority's target answers the challenge. Lead
// sets the target.
type Authority struct {
	Directory string         // the URL of the authority's directory
	TrustFile string         // a PEM file with the certificate of the directory's server, for SSL_CERT_FILE
	Client    *http.Client   // trusts the directory's server
	Roots     *x509.CertPool // the root certificate that clients must trust
	Orders    atomic.Int64   // the number of orders that the authority has received
	Broken    atomic.Bool    // if true, every request fails
	mu        sync.Mutex
	target    string
}

// withoutRandomness makes Pebble behave in the same way each time: no pauses, no refused nonces, and no reuse of
// earlier authorizations.
var withoutRandomness = sync.OnceFunc(func() {
	for name, value := range map[string]string{"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "0", "PEBBLE_AUTHZREUSE": "0"} {
		os.Setenv(name, value)
	}
})

// NewAuthority starts an authority that runs until the test ends. Its certificates are valid for the given
// number of seconds.
func NewAuthority(t *testing.T, validity uint64) *Authority {
	t.Helper()
	withoutRandomness()
	a := &Authority{Roots: x509.NewCertPool()}
	quiet, store := log.New(io.Discard, "", 0), db.NewMemoryStore()
	issuer := ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {ValidityPeriod: validity}})
	a.Roots.AppendCertsFromPEM(issuer.GetRootCert(0).PEM())
	examiner := va.New(quiet, 0, a.forward(t), false, resolver(t), store)
	front := wfe.New(quiet, store, examiner, issuer, []string{"authority.example"}, false, false, 0, 0)
	handler := front.Handler()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.Broken.Load() {
			http.Error(w, "broken", http.StatusForbidden)
			return
		}
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/order-plz") {
			a.Orders.Add(1)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	a.Directory, a.Client = server.URL+wfe.DirectoryPath, server.Client()
	a.TrustFile = filepath.Join(t.TempDir(), "authority.pem")
	trusted := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(a.TrustFile, trusted, 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

// Lead makes every domain point to the service at the given address.
func (a *Authority) Lead(target string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.target = target
}

// forward accepts the connections that the authority opens to validate domains, and forwards them to the target. It
// returns the port on which it listens. The authority needs a fixed port, but the target's port is not known yet.
func (a *Authority) forward(t *testing.T) (port int) {
	listener := listen(t)
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			a.mu.Lock()
			target := a.target
			a.mu.Unlock()
			to, err := net.Dial("tcp", target)
			if err != nil {
				from.Close()
				continue
			}
			pass := func(to, from net.Conn) {
				io.Copy(to, from)
				to.Close()
				from.Close()
			}
			go pass(to, from)
			go pass(from, to)
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port
}

// resolver starts a DNS server that answers 127.0.0.1 for every name, and returns its address.
func resolver(t *testing.T) string {
	listener := listen(t)
	server := &dns.Server{Listener: listener, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, query *dns.Msg) {
		reply := new(dns.Msg).SetReply(query)
		for _, question := range query.Question {
			if question.Qtype == dns.TypeA {
				header := dns.RR_Header{Name: question.Name, Rrtype: dns.TypeA, Class: dns.ClassINET}
				reply.Answer = append(reply.Answer, &dns.A{Hdr: header, A: net.IPv4(127, 0, 0, 1)})
			}
		}
		w.WriteMsg(reply)
	})}
	go server.ActivateAndServe()
	return listener.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}
