package acme

import (
	"context"
	"crypto/tls"
	"slices"
	"time"
)

const (
	// checkInterval is how often Run checks whether the certificate must be renewed.
	checkInterval = time.Hour
	// obtainTimeout limits one attempt to obtain a certificate.
	obtainTimeout = 5 * time.Minute
)

// retryDelays are the pauses after failed attempts; the last one repeats. Let's Encrypt allows five failed
// attempts for a domain within an hour.
var retryDelays = []time.Duration{time.Minute, 4 * time.Minute, 16 * time.Minute, time.Hour}

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
