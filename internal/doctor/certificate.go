package doctor

import (
	"crypto/tls"
	"time"
)

// A certificate should have been renewed by then: usually, that happens a month before it expires, or in the last third
// of its life if that is shorter.
const (
	expiresSoon   = 21 * 24 * time.Hour // or a quarter of its life
	expiresAtOnce = 7 * 24 * time.Hour  // or a twelfth of its life
)

// checkCertificate reads the certificate and its key and looks at its validity and its names.
func (x *examiner) checkCertificate() {
	if x.TLSCert == "" || x.TLSKey == "" {
		return
	}
	pair, err := tls.LoadX509KeyPair(x.TLSCert, x.TLSKey)
	if err != nil {
		x.problem("certificate", "Put the certificate chain into --tls-cert and its own private key into --tls-key, both as PEM.", "%v", err)
		return
	}
	leaf, renew := pair.Leaf, "Renew the certificate, and check why that did not happen by itself; the service loads the new one without a restart."
	life, left := leaf.NotAfter.Sub(leaf.NotBefore), leaf.NotAfter.Sub(x.now)
	switch {
	case x.now.Before(leaf.NotBefore):
		x.problem("certificate", "Check the clock, or use the certificate later.", "the certificate is valid only from %s on", leaf.NotBefore.UTC().Format(time.RFC3339))
	case left <= 0:
		x.problem("certificate", renew, "the certificate expired on %s", leaf.NotAfter.UTC().Format(time.RFC3339))
	case left < min(expiresAtOnce, life/12):
		x.problem("certificate", renew, "the certificate expires in %s", left.Round(time.Minute))
	case left < min(expiresSoon, life/4):
		x.warn("certificate", renew, "the certificate expires in %s", left.Round(time.Minute))
	default:
		x.ok("certificate", "the certificate and its key match, and it is valid until %s", leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	if x.PublicHost != "" && leaf.VerifyHostname(x.PublicHost) != nil {
		x.warn("certificate", "Use a certificate for the host in --public-url, unless a proxy in front has one.",
			"the certificate is not valid for %s", x.PublicHost)
	}
}
