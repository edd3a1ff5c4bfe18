package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Certificate is a certificate and its key, read from two files. The files may be replaced while the server is
// running. The server loads a valid new pair within seconds. If the new files are invalid, it keeps the last valid
// pair.
type Certificate struct {
	certFile, keyFile string
	current           atomic.Pointer[tls.Certificate]
	loaded            pemPair // the file contents from which current was created
	invalid           pemPair // the invalid file contents that the last reload found
	reported          bool    // whether the invalid pair has been logged
	failing           atomic.Bool
	managed           *managed // nil if the operator provides the files
}

// pemPair holds the contents of the two files, or the reason why they could not be read.
type pemPair struct {
	cert, key []byte
	problem   string
}

func (p pemPair) equal(other pemPair) bool {
	return p.problem == other.problem && bytes.Equal(p.cert, other.cert) && bytes.Equal(p.key, other.key)
}

// reloadInterval is how often the files are read. Comparing the contents detects every kind of change: a
// changed symbolic link, a replaced file or an overwritten file.
const reloadInterval = time.Second

// LoadCertificate reads a certificate and its key from two files. It fails if they do not belong together.
func LoadCertificate(certFile, keyFile string) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile}
	certificate, err := c.parse(c.read())
	if err != nil {
		return nil, err
	}
	c.current.Store(certificate)
	return c, nil
}

func (c *Certificate) read() (p pemPair) {
	var err error
	if p.cert, err = os.ReadFile(c.certFile); err == nil {
		p.key, err = os.ReadFile(c.keyFile)
	}
	if err != nil {
		p.problem = err.Error()
	}
	return p
}

// parse parses a pair and, if it is valid, stores it in c.loaded.
func (c *Certificate) parse(p pemPair) (*tls.Certificate, error) {
	if p.problem != "" {
		return nil, errors.New(p.problem)
	}
	certificate, err := tls.X509KeyPair(p.cert, p.key)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %s", c.certFile, c.keyFile, strings.TrimPrefix(err.Error(), "tls: "))
	}
	c.loaded = p
	return &certificate, nil
}

// watch calls reload periodically until the context ends.
func (c *Certificate) watch(ctx context.Context, log *slog.Logger) {
	ticker := time.NewTicker(reloadInterval)
	defer ticker.Stop()
	for {
		c.reload(log)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// reload loads the files if they have changed. It logs an invalid pair only once, when the next reload finds the same
// pair again: two files cannot be replaced at the same moment, so the first reload may have found only one of them
// replaced.
func (c *Certificate) reload(log *slog.Logger) {
	found := c.read()
	if found.equal(c.loaded) {
		c.setValid()
		return
	}
	certificate, err := c.parse(found)
	if err == nil {
		c.current.Store(certificate)
		c.setValid()
		log.Info("certificate reloaded", "names", strings.Join(certificate.Leaf.DNSNames, " "), "expires", certificate.Leaf.NotAfter)
		return
	}
	if !found.equal(c.invalid) {
		c.invalid, c.reported = found, false
		return
	}
	if !c.reported {
		c.reported = true
		c.failing.Store(true)
		if current := c.current.Load(); current != nil {
			log.Warn("cannot reload the certificate; keeping the current one", "error", err, "expires", current.Leaf.NotAfter)
		} else {
			log.Warn("cannot load the certificate", "error", err)
		}
	}
}

func (c *Certificate) setValid() {
	c.invalid, c.reported = pemPair{}, false
	c.failing.Store(false)
}

// tlsConfig returns Go's default TLS configuration with the current certificate and TLS 1.2 as the minimum
// version.
func (c *Certificate) tlsConfig() *tls.Config {
	config := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
	if c.managed != nil {
		config.NextProtos = append(config.NextProtos, c.managed.protocol)
		config.GetCertificate = c.choose
	}
	return config
}

// Hostname returns the first DNS name in the certificate that is not a wildcard, or "" if there is none.
func (c *Certificate) Hostname() string {
	if c.managed != nil {
		return c.managed.domains[0]
	}
	for _, name := range c.current.Load().Leaf.DNSNames {
		if !strings.HasPrefix(name, "*") {
			return name
		}
	}
	return ""
}

// expires returns the expiry time in seconds since 1970, or 0 if there is no certificate yet.
func (c *Certificate) expires() float64 {
	if current := c.current.Load(); current != nil {
		return float64(current.Leaf.NotAfter.Unix())
	}
	return 0
}

// lifetime returns the time from the start of the certificate's validity to its expiry in seconds, or 0 if there is
// no certificate yet.
func (c *Certificate) lifetime() float64 {
	if current := c.current.Load(); current != nil {
		return current.Leaf.NotAfter.Sub(current.Leaf.NotBefore).Seconds()
	}
	return 0
}

func (c *Certificate) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "animalstore_tls_certificate_expires_timestamp_seconds",
			Help: "Expiry time of the served certificate.",
		}, c.expires),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "animalstore_tls_certificate_lifetime_seconds",
			Help: "Time from the start of the served certificate's validity to its expiry.",
		}, c.lifetime),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "animalstore_tls_reload_failing",
			Help: "1 while the certificate files are invalid and the previous certificate is served.",
		}, func() float64 {
			if c.failing.Load() {
				return 1
			}
			return 0
		}),
	}
}
