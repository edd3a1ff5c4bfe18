package doctor

import (
	"crypto/tls"
	"time"
)

// The remaining validity below which doctor reports a certificate. For a short-lived certificate, the limit is a
// fraction of its life. A certificate should be renewed earlier than that: usually a month before it expires or, if it
// is short-lived, in the last third of its life.
const (
	expiresSoon   = 21 * 24 * time.Hour // reported as a warning; never more than a quarter of the certificate's life
	expiresAtOnce = 7 * 24 * time.Hour  // reported as a problem; never more than a twelfth of the certificate's life
)

// certificateAdvice contains the advice for each problem that a certificate may have.
type certificateAdvice struct {
	replace string // the advice if the certificate or its key cannot be read
	renew   string // the advice if the certificate has expired or will expire soon
	rename  string // the advice if the certificate is not valid for the host in --public-url
}

func (x *examiner) certificateAdvice() certificateAdvice {
	if x.ACME {
		return certificateAdvice{
			replace: "Restart the service: it orders a new certificate and replaces " + x.TLSCert + ".",
			renew:   "Check that the service runs. It renews the certificate by itself; its log says \"cannot obtain a certificate\", and why.",
			rename:  "Add the host in --public-url to --acme-domain.",
		}
	}
	return certificateAdvice{
		replace: "Put the certificate chain into --tls-cert and its own private key into --tls-key, both as PEM.",
		renew:   "Renew the certificate, and check why that did not happen by itself; the service loads the new one without a restart.",
		rename:  "Use a certificate for the host in --public-url, unless a proxy in front has one.",
	}
}

// checkCertificate checks that the certificate and its key match, that the certificate is valid and will not expire
// soon, and that it covers the public host.
func (x *examiner) checkCertificate() {
	if x.TLSCert == "" || x.TLSKey == "" {
		return
	}
	advice := x.certificateAdvice()
	pair, err := tls.LoadX509KeyPair(x.TLSCert, x.TLSKey)
	if err != nil {
		x.problem("certificate", advice.replace, "%v", err)
		return
	}
	leaf := pair.Leaf
	life, left := leaf.NotAfter.Sub(leaf.NotBefore), leaf.NotAfter.Sub(x.now)
	switch {
	case x.now.Before(leaf.NotBefore):
		x.problem("certificate", "Check the clock, or use the certificate later.", "the certificate is valid only from %s on", leaf.NotBefore.UTC().Format(time.RFC3339))
	case left <= 0:
		x.problem("certificate", advice.renew, "the certificate expired on %s", leaf.NotAfter.UTC().Format(time.RFC3339))
	case left < min(expiresAtOnce, life/12):
		x.problem("certificate", advice.renew, "the certificate expires in %s", left.Round(time.Minute))
	case left < min(expiresSoon, life/4):
		x.warn("certificate", advice.renew, "the certificate expires in %s", left.Round(time.Minute))
	default:
		x.ok("certificate", "the certificate and its key match, and it is valid until %s", leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	if x.PublicHost != "" && leaf.VerifyHostname(x.PublicHost) != nil {
		x.warn("certificate", advice.rename, "the certificate is not valid for %s", x.PublicHost)
	}
}
