package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"
)

// managed holds the settings of a certificate that the program itself obtains from a certificate authority.
type managed struct {
	domains   []string
	protocol  string
	challenge func(domain string) *tls.Certificate
	temporary *tls.Certificate
}

// temporaryValidity is how long the temporary certificate is valid. It may be long, because no client trusts that
// certificate.
const temporaryValidity = 10 * 365 * 24 * time.Hour

// ManagedCertificate returns a certificate that is read from one file with both the chain and the key. The file may
// be missing or invalid, because the program will write it later. A handshake for one of the domains succeeds as soon
// as there is a certificate. A handshake for another name fails. A handshake without a name always succeeds, if
// necessary with a temporary certificate that no client trusts, because health checks use the IP address and must not
// fail for lack of a certificate.
//
// A client that offers only the given protocol (ALPN) is a certificate authority that is validating a domain. It
// receives the certificate that challenge returns, or is refused if challenge returns nil.
func ManagedCertificate(file string, domains []string, protocol string, challenge func(domain string) *tls.Certificate) (*Certificate, error) {
	temporary, err := newTemporaryCertificate()
	if err != nil {
		return nil, err
	}
	c := &Certificate{certFile: file, keyFile: file, managed: &managed{domains, protocol, challenge, temporary}}
	found := c.read()
	if certificate, err := c.parse(found); err == nil {
		c.current.Store(certificate)
	}
	c.loaded = found // an unusable file is not reported, because it will be replaced
	return c, nil
}

// choose returns the certificate for a handshake. It fails if the handshake must be refused.
func (c *Certificate) choose(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	m, current, name := c.managed, c.current.Load(), strings.ToLower(hello.ServerName)
	switch {
	case name == "" && current == nil:
		return m.temporary, nil
	case name == "":
		return current, nil
	case !slices.Contains(m.domains, name):
		return nil, fmt.Errorf("no certificate for %q", name)
	case slices.Equal(hello.SupportedProtos, []string{m.protocol}):
		if answer := m.challenge(name); answer != nil {
			return answer, nil
		}
		return nil, fmt.Errorf("no order for %q", name)
	case current == nil:
		return nil, fmt.Errorf("no certificate for %q yet", name)
	}
	return current, nil
}

func newTemporaryCertificate() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "animalstore without a certificate"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(temporaryValidity)}
	encoded, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return &tls.Certificate{Certificate: [][]byte{encoded}, PrivateKey: key}, err
}
