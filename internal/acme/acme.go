// Package acme obtains and renews the service's certificate from a certificate authority that speaks ACME (RFC 8555),
// such as Let's Encrypt. It proves that it controls a domain by answering TLS-ALPN-01 challenges (RFC 8737) on the
// service's own port.
package acme

import (
	"context"
	"crypto/tls"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
)

// DefaultDirectory is the directory of Let's Encrypt.
const DefaultDirectory = acme.LetsEncryptURL

// Protocol is the ALPN protocol that an authority uses when it connects to validate a challenge.
const Protocol = acme.ALPNProto

const (
	// checkInterval is how often Run checks whether the certificate must be renewed.
	checkInterval = time.Hour
	// obtainTimeout limits one attempt to obtain a certificate.
	obtainTimeout = 5 * time.Minute
)

// retryDelays are the pauses after failed attempts; the last one repeats. Let's Encrypt allows five failed
// attempts for a domain within an hour.
var retryDelays = []time.Duration{time.Minute, 4 * time.Minute, 16 * time.Minute, time.Hour}

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

// Run runs until the context ends. It obtains a certificate if there is none for the domains, and renews the
// certificate before it expires. If an attempt fails, Run reports the error and tries again.
func (m *Manager) Run(ctx context.Context) {
	failures := 0
	for {
		pause := checkInterval
		if err := m.renew(ctx); ctx.Err() != nil {
			return
		} else if err != nil {
			pause = m.delays[min(failures, len(m.delays)-1)]
			failures++
			m.Report(err, pause)
		} else {
			failures = 0
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// renew obtains a certificate if the stored one is missing, lacks a domain, or is in the last third of its
// life.
func (m *Manager) renew(ctx context.Context) error {
	if pair, err := m.Folder.certificate(); err == nil && covers(pair, m.Domains) && time.Now().Before(renewalTime(pair)) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, obtainTimeout)
	defer cancel()
	pair, err := m.obtain(ctx)
	if err != nil {
		return err
	}
	m.Obtained(pair.Leaf.NotAfter)
	return nil
}

func covers(pair *tls.Certificate, domains []string) bool {
	return !slices.ContainsFunc(domains, func(domain string) bool { return pair.Leaf.VerifyHostname(domain) != nil })
}

func renewalTime(pair *tls.Certificate) time.Time {
	return pair.Leaf.NotAfter.Add(-pair.Leaf.NotAfter.Sub(pair.Leaf.NotBefore) / 3)
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
