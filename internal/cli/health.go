package cli

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// healthCommand asks a service on this machine whether it can serve. A container without a shell is asked that way. It has the
// variables of serve, so that both are told once where the service is.
type healthCommand struct {
	Addr    string `env:"ANIMALSTORE_ADDR" default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Where the service listens (default ${default})."`
	TLSCert string `name:"tls-cert" env:"ANIMALSTORE_TLS_CERT" placeholder:"FILE" help:"Ask over HTTPS, as a service does that has a certificate."`
}

// healthTimeout is more than the service itself takes to find out, and less than those wait who ask again and again.
const healthTimeout = 5 * time.Second

func (h *healthCommand) Run(ctx context.Context, t terminal) error {
	if err := checkAddr(h.Addr); err != nil {
		return usagef("--addr: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url()+"/readyz", nil)
	if err != nil {
		return usagef("--addr: %w", err)
	}
	// The certificate is good for the name that clients use, not for this address. Nothing secret is sent.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("the service at %s cannot be reached: %w", h.url(), err)
	}
	defer response.Body.Close()
	var status struct {
		Status  any // a text where it is well, a number where it is not
		Message string
	}
	const enough = 64 << 10
	err = json.NewDecoder(io.LimitReader(response.Body, enough)).Decode(&status)
	switch {
	case err == nil && response.StatusCode == http.StatusOK && status.Status == "ok":
		_, err = fmt.Fprintln(t.out, "ready")
		return err
	case err == nil && status.Message != "":
		return fmt.Errorf("not ready: %s", status.Message)
	}
	return fmt.Errorf("what answers at %s is no animalstore", h.url())
}

// url is where the service is reached from its own machine.
func (h *healthCommand) url() string {
	host, port, _ := net.SplitHostPort(h.Addr)
	switch ip := net.ParseIP(host); { // by number: a container may know no names
	case host == "", ip.Equal(net.IPv4zero):
		host = "127.0.0.1"
	case ip.Equal(net.IPv6unspecified):
		host = "::1"
	}
	scheme := "http"
	if h.TLSCert != "" {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}
