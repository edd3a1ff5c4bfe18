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

// healthCommand checks whether the service on this machine is ready. Containers without a shell need it for their
// health check. It reads the same environment variables as serve, so operators configure the address only once.
type healthCommand struct{ addressFlags }

// addressFlags say where the service on this machine listens. They have the names and variables of the flags of serve.
type addressFlags struct {
	Addr       string   `env:"ANIMALSTORE_ADDR" default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address that the service listens on (default ${default})."`
	TLSCert    string   `name:"tls-cert" env:"ANIMALSTORE_TLS_CERT" placeholder:"FILE" help:"Use HTTPS, because the service has a certificate."`
	ACMEDomain []string `name:"acme-domain" env:"ANIMALSTORE_ACME_DOMAIN" placeholder:"DOMAIN" help:"Use HTTPS, because the service gets a certificate by ACME."`
}

// healthTimeout is longer than the service's own readiness check takes and shorter than the usual interval
// between health checks.
const healthTimeout = 5 * time.Second

func (h *healthCommand) Run(ctx context.Context, t terminal) error {
	if err := checkAddr(h.Addr); err != nil {
		return usagef("--addr: %w", err)
	}
	if err := h.check(ctx); err != nil {
		return err
	}
	_, err := fmt.Fprintln(t.out, "ready")
	return err
}

// check returns an error if the service is not ready or cannot be reached.
func (h *healthCommand) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url()+"/readyz", nil)
	if err != nil {
		return usagef("--addr: %w", err)
	}
	// The certificate is not verified, because it is valid for the name that clients use and not for this
	// address. The request contains no secret.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("cannot reach the service at %s: %w", h.url(), err)
	}
	defer response.Body.Close()
	var status struct {
		Status  any // "ok", or the HTTP status code if the response is an error
		Message string
	}
	const enough = 64 << 10
	err = json.NewDecoder(io.LimitReader(response.Body, enough)).Decode(&status)
	switch {
	case err == nil && response.StatusCode == http.StatusOK && status.Status == "ok":
		return nil
	case err == nil && status.Message != "":
		return fmt.Errorf("not ready: %s", status.Message)
	}
	return fmt.Errorf("the server at %s is not an animalstore", h.url())
}

// url returns the service's URL for a client on the same machine.
func (a addressFlags) url() string {
	host, port, _ := net.SplitHostPort(a.Addr)
	switch ip := net.ParseIP(host); { // localhost is not used, because a container may be unable to resolve it
	case host == "", ip.Equal(net.IPv4zero):
		host = "127.0.0.1"
	case ip.Equal(net.IPv6unspecified):
		host = "::1"
	}
	scheme := "http"
	if a.TLSCert != "" || len(a.ACMEDomain) > 0 {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}
