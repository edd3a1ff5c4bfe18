package programtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"testing"
	"time"
)

// Authority issues certificates that only its own transports trust.
type Authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	Last int64 // the serial number of the newest certificate
}

// NewAuthority creates an authority with a self-signed certificate.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t}
	a.cert, a.key = a.sign(&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)})
	return a
}

// sign adds a new key and the next serial number to a template, and signs the result. The first certificate is
// self-signed.
func (a *Authority) sign(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	a.Last++
	template.SerialNumber, template.Subject = big.NewInt(a.Last), pkix.Name{CommonName: "animals"}
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

// Issue returns a new certificate for localhost and its private key, both in PEM format. The certificate
// expires after the given time.
func (a *Authority) Issue(validity time.Duration) (cert, key string) {
	a.t.Helper()
	return a.IssueAged(time.Hour, validity)
}

// IssueAged is like Issue, but the certificate has already been valid for the time given as age.
func (a *Authority) IssueAged(age, validity time.Duration) (cert, key string) {
	a.t.Helper()
	made, private := a.sign(&x509.Certificate{
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-age), NotAfter: time.Now().Add(validity),
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

// Transport returns an HTTP transport that trusts the authority and uses HTTP/2.
func (a *Authority) Transport() *http.Transport {
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
}

// ServeTLS starts the service with TLS. If there are no args, it uses a new certificate, which it stores in
// the files cert.pem and key.pem.
func (f *Folder) ServeTLS(a *Authority, args ...string) *Program {
	f.T.Helper()
	if len(args) == 0 {
		cert, key := a.Issue(time.Hour)
		args = []string{"--tls-cert", f.Write("cert.pem", cert), "--tls-key", f.Write("key.pem", key)}
	}
	p := f.Start(args...)
	p.URL = "https://" + p.AwaitAddress()
	p.Client.Transport = a.Transport()
	ExpectStatus(f.T, p.Send("GET", "/livez", "", ""), http.StatusOK)
	return p
}
