package doctor

import (
	"crypto/tls"
	"time"
)

const (
	expiresSoon   = 21 * 24 * time.Hour // certificates are usually renewed a month before they expire
	expiresAtOnce = 7 * 24 * time.Hour
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
	left := leaf.NotAfter.Sub(x.now).Round(time.Hour)
	switch {
	case x.now.Before(leaf.NotBefore):
		x.problem("certificate", "Check the clock, or use the certificate later.", "the certificate is valid only from %s on", leaf.NotBefore.UTC().Format(time.RFC3339))
	case left <= 0:
		x.problem("certificate", renew, "the certificate expired on %s", leaf.NotAfter.UTC().Format(time.RFC3339))
	case left < expiresAtOnce:
		x.problem("certificate", renew, "the certificate expires in %s", left)
	case left < expiresSoon:
		x.warn("certificate", renew, "the certificate expires in %s", left)
	default:
		x.ok("certificate", "the certificate and its key match, and it is valid until %s", leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	if x.PublicHost != "" && leaf.VerifyHostname(x.PublicHost) != nil {
		x.warn("certificate", "Use a certificate for the host in --public-url, unless a proxy in front has one.",
			"the certificate is not valid for %s", x.PublicHost)
	}
}
