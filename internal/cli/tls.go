package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// certificate is the pair of files that TLS is served with, as it was when it was last good. Others replace the files while
// the service runs: what they put there is taken within seconds, and what is broken is not.
type certificate struct {
	certFile, keyFile string
	current           atomic.Pointer[tls.Certificate]
	good              pair // what current was made of
	broken            pair // what was there instead, when it was last looked at
	told              bool // the log has it
	failing           atomic.Bool
}

// pair is what was in the two files, or why it could not be read.
type pair struct {
	cert, key []byte
	problem   string
}

func (p pair) equal(other pair) bool {
	return p.problem == other.problem && bytes.Equal(p.cert, other.cert) && bytes.Equal(p.key, other.key)
}

// certificateEvery is how often the files are looked at. They are read whole: a link that leads elsewhere, a file in the place
// of another and one that was written over look the same that way.
const certificateEvery = time.Second

// loadCertificate reads the files, which must fit together.
func loadCertificate(certFile, keyFile string) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile}
	made, err := c.make(c.read())
	if err != nil {
		return nil, err
	}
	c.current.Store(made)
	return c, nil
}

func (c *certificate) read() (p pair) {
	var err error
	if p.cert, err = os.ReadFile(c.certFile); err == nil {
		p.key, err = os.ReadFile(c.keyFile)
	}
	if err != nil {
		p.problem = err.Error()
	}
	return p
}

// make makes a certificate of a pair, and notes it as good.
func (c *certificate) make(p pair) (*tls.Certificate, error) {
	if p.problem != "" {
		return nil, fmt.Errorf("%s", p.problem)
	}
	made, err := tls.X509KeyPair(p.cert, p.key)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %s", c.certFile, c.keyFile, strings.TrimPrefix(err.Error(), "tls: "))
	}
	c.good = p
	return &made, nil
}

// watch looks at the files until the context ends.
func (c *certificate) watch(ctx context.Context, log *slog.Logger) {
	ticker := time.NewTicker(certificateEvery)
	defer ticker.Stop()
	for {
		c.look(log)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// look takes what is in the files where it is new and good. What is broken is told once, and only when it still is at the
// next look: two files cannot be replaced at the same moment.
func (c *certificate) look(log *slog.Logger) {
	found := c.read()
	if found.equal(c.good) {
		c.broken, c.told = pair{}, false
		c.failing.Store(false)
		return
	}
	made, err := c.make(found)
	if err == nil {
		c.current.Store(made)
		c.broken, c.told = pair{}, false
		c.failing.Store(false)
		log.Info("certificate", "names", strings.Join(made.Leaf.DNSNames, " "), "expires", made.Leaf.NotAfter)
		return
	}
	if !found.equal(c.broken) {
		c.broken, c.told = found, false
		return
	}
	if !c.told {
		c.told = true
		c.failing.Store(true)
		log.Warn("the certificate's files are of no use; the one before stays", "error", err, "expires", c.current.Load().Leaf.NotAfter)
	}
}

// config is how TLS is spoken: as Go has it by default, and nothing older than version 1.2.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}

// name is a host that the certificate is good for, or "".
func (c *certificate) name() string {
	for _, name := range c.current.Load().Leaf.DNSNames {
		if !strings.HasPrefix(name, "*") {
			return name
		}
	}
	return ""
}

func (c *certificate) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "animalstore_tls_certificate_expires_timestamp_seconds",
			Help: "When the certificate that is served expires.",
		}, func() float64 { return float64(c.current.Load().Leaf.NotAfter.Unix()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "animalstore_tls_reload_failing",
			Help: "1 while the certificate's files are of no use, and the one before is served.",
		}, func() float64 {
			if c.failing.Load() {
				return 1
			}
			return 0
		}),
	}
}
