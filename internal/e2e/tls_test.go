package e2e

import (
	"crypto/tls"
	"iter"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"animalstore/client"
	"animalstore/internal/programtest"
)

// TestTLSAcceptsModernVersionsOnly connects with HTTP/2 and HTTP/1.1, with every TLS version and without TLS. Only TLS
// 1.2 and TLS 1.3 may work. A connection that is closed immediately must not be logged, because load balancers open
// such connections as health checks. The service must use replaced certificate files without a restart.
func TestTLSAcceptsModernVersionsOnly(t *testing.T) {
	t.Parallel()
	a, f := programtest.NewAuthority(t), programtest.NewFolderWithKey(t)
	p := f.ServeTLS(a)
	p.Create(programtest.Pet{Name: "Rex", CategoryID: 1})
	if link := p.Get("/v1/pets").Header.Get("Link"); !strings.HasPrefix(link, "<"+p.URL+"/v1/pets") {
		t.Errorf("Link is %q, want %s/v1/pets", link, p.URL)
	}
	response, err := p.Client.Get(p.URL + "/livez")
	must(t, err)
	response.Body.Close()
	if response.ProtoMajor != 2 {
		t.Errorf("the response uses %s, want HTTP/2", response.Proto)
	}
	old := a.Transport()
	old.ForceAttemptHTTP2, old.TLSClientConfig.NextProtos = false, []string{"http/1.1"}
	p.Client.Transport = old
	programtest.ExpectStatus(t, p.Send("GET", "/livez", "", ""), http.StatusOK)
	address := strings.TrimPrefix(p.URL, "https://")
	for _, version := range []uint16{tls.VersionTLS10, tls.VersionTLS11, tls.VersionTLS12, tls.VersionTLS13} {
		accepted := version >= tls.VersionTLS12
		config := a.Transport().TLSClientConfig
		config.MinVersion, config.MaxVersion = version, version
		connection, err := tls.Dial("tcp", address, config)
		if (err == nil) != accepted {
			t.Errorf("%s: got error %v, want accepted: %v", tls.VersionName(version), err, accepted)
		}
		if err == nil {
			connection.Close()
		}
	}
	cert, key := a.Issue(2 * time.Hour)
	f.Write("cert.pem", cert)
	f.Write("key.pem", key)
	programtest.Await(t, "the new certificate", func() bool {
		connection, err := tls.Dial("tcp", address, a.Transport().TLSClientConfig)
		must(t, err)
		defer connection.Close()
		return connection.ConnectionState().PeerCertificates[0].SerialNumber.Int64() == a.Last
	})
	if failing := p.Metric("animalstore_tls_reload_failing"); failing != 0 {
		t.Errorf("animalstore_tls_reload_failing: got %v, want 0", failing)
	}
	probe, err := net.Dial("tcp", address) // a load balancer's health check does the same
	must(t, err)
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

// TestClientFollowsEventsOverTLS uses the Go client over TLS and HTTP/2. It sends requests and follows a
// stream that must continue after a restart.
func TestClientFollowsEventsOverTLS(t *testing.T) {
	t.Parallel()
	a, f := programtest.NewAuthority(t), programtest.NewFolderWithKey(t)
	p := f.ServeTLS(a)
	transport := a.Transport()
	defer transport.CloseIdleConnections()
	c := newClient(t, p.URL, transport)
	next, stop := iter.Pull2(c.Follow(t.Context(), "0", client.EventFilter{Types: []client.EventType{client.EventPetCreated}}))
	defer stop()
	for i, name := range []string{"Rex", "Luna"} {
		if i > 0 {
			p.Stop()
			p = f.ServeTLS(a, "--tls-cert", "cert.pem", "--tls-key", "key.pem", "--addr", strings.TrimPrefix(p.URL, "https://"))
		}
		if _, err := c.CreatePet(t.Context(), client.NewPet{Name: name, CategoryID: 1}); err != nil {
			t.Fatal(err)
		}
		event, err, _ := next()
		if pet, _, err2 := event.Pet(); err != nil || err2 != nil || pet.Name != name {
			t.Fatalf("got %+v, %v, %v, want the event of %s", event, err, err2, name)
		}
	}
}
