// Package acme obtains and renews the service's certificate from a certificate authority that speaks ACME (RFC 8555),
// such as Let's Encrypt. It proves that it controls a domain by answering TLS-ALPN-01 challenges (RFC 8737) on the
// service's own port.
package acme

import (
	"crypto/tls"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
)

// DefaultDirectory is the directory of Let's Encrypt.
const DefaultDirectory = acme.LetsEncryptURL

// Protocol is the ALPN protocol that an authority uses when it connects to validate a challenge.
const Protocol = acme.ALPNProto

// Config holds the settings for a Manager.
type Config struct {
	Domains   []string // the names in the certificate, in lower case; at least one
	Directory string   // the URL of the authority's directory
	Email     string   // the address to which the authority may write, or empty
	Folder    Folder
	UserAgent string
	// Obtained is called after a certificate was stored. Report is called after an attempt has failed, with the time
	// until the next attempt.
	Obtained func(expires time.Time)
	Report   func(err error, retry time.Duration)
}

// Manager keeps a valid certificate in its folder.
type Manager struct {
	Config
	client     *http.Client // nil to use the default client
	delays     []time.Duration
	mu         sync.Mutex
	challenges map[string]*tls.Certificate // the certificates that answer the challenges in progress, keyed by domain
}

// New returns a manager. Call Run to start it.
func New(config Config) *Manager {
	return &Manager{Config: config, delays: retryDelays, challenges: map[string]*tls.Certificate{}}
}

// Challenge returns the certificate that answers the authority's challenge for a domain, or nil if there is no such
// challenge at the moment.
func (m *Manager) Challenge(domain string) *tls.Certificate {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.challenges[strings.ToLower(domain)]
}

// setChallenge stores the certificate that answers the challenge for a domain. If answer is nil, setChallenge removes
// the stored one.
func (m *Manager) setChallenge(domain string, answer *tls.Certificate) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if answer == nil {
		delete(m.challenges, domain)
	} else {
		m.challenges[domain] = answer
	}
}
