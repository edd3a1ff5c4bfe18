package cli

import (
	"fmt"
	"log/slog"
	"net"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"animalstore/internal/acme"
	"animalstore/internal/admission"
	"animalstore/internal/server"
	"animalstore/internal/sqlstore"
	"animalstore/internal/version"
)

// acmeFlags holds the flags for a certificate from an authority that speaks ACME.
type acmeFlags struct {
	Domain    []string `env:"ANIMALSTORE_ACME_DOMAIN" placeholder:"DOMAIN" help:"Serve HTTPS for these domains with a certificate from Let's Encrypt, which must reach the service at port 443 of each; this accepts the authority's terms."`
	Email     string   `env:"ANIMALSTORE_ACME_EMAIL" placeholder:"ADDRESS" help:"Address that the authority may write to (default: none)."`
	Cache     string   `env:"ANIMALSTORE_ACME_CACHE" placeholder:"DIR" help:"Folder for the certificate and its key (default: DATABASE-acme beside a database file)."`
	Directory string   `env:"ANIMALSTORE_ACME_DIRECTORY" placeholder:"URL" help:"ACME directory of another authority (default: that of Let's Encrypt)."`
}

// acmeSettings checks and parses the flags for a certificate from an authority. It writes nothing.
func (s *serveCommand) acmeSettings(parsed *settings) error {
	flags := s.ACME
	if len(flags.Domain) == 0 {
		for _, flag := range []struct{ name, value string }{
			{"--acme-email", flags.Email}, {"--acme-cache", flags.Cache}, {"--acme-directory", flags.Directory},
		} {
			if flag.value != "" {
				return usagef("%s: set --acme-domain, too, to the domains of the service", flag.name)
			}
		}
		return nil
	}
	if s.TLSCert != "" || s.TLSKey != "" {
		return usagef("--acme-domain and --tls-cert are mutually exclusive")
	}
	config := acme.Config{Directory: acme.DefaultDirectory, Email: flags.Email, UserAgent: "animalstore/" + version.Number}
	for _, domain := range flags.Domain {
		domain = strings.ToLower(domain)
		if err := checkDomain(domain); err != nil {
			return usagef("--acme-domain: %w", err)
		}
		if slices.Contains(config.Domains, domain) {
			return usagef("--acme-domain: %s is there twice", domain)
		}
		config.Domains = append(config.Domains, domain)
	}
	if address, err := mail.ParseAddress(flags.Email); flags.Email != "" && (err != nil || address.Address != flags.Email) {
		return usagef("--acme-email: invalid address %q; expected an address such as admin@example.com", flags.Email)
	}
	if flags.Directory != "" {
		if err := checkDirectory(flags.Directory); err != nil {
			return usagef("--acme-directory: %w", err)
		}
		config.Directory = flags.Directory
	}
	cache := flags.Cache
	if cache == "" {
		if sqlstore.IsURL(s.Database) {
			return usagef("--acme-cache: set it to a folder for the certificate, because the database is not a file")
		}
		cache = s.Database + "-acme"
	}
	config.Folder = acme.NewFolder(cache, config.Directory)
	if err := config.Folder.Check(); err != nil {
		return usagef("--acme-cache: %w", err)
	}
	parsed.acme = acme.New(config)
	var err error
	parsed.certificate, err = server.ManagedCertificate(config.Folder.CertificateFile(), config.Domains, acme.Protocol, parsed.acme.Challenge)
	return err
}

var label = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// checkDomain checks that an authority could issue a certificate for a domain. The domain must be in lower case.
func checkDomain(domain string) error {
	const example = "expected a domain such as pets.example.com"
	labels := strings.Split(domain, ".")
	switch {
	case net.ParseIP(strings.Trim(domain, "[]")) != nil:
		return fmt.Errorf("%s is an IP address; %s", domain, example)
	case strings.Contains(domain, "*"):
		return fmt.Errorf("%q is a wildcard, for which the service cannot get a certificate; name each domain", domain)
	case len(labels) < 2 || len(domain) > 253 || strings.Trim(labels[len(labels)-1], "0123456789") == "",
		slices.ContainsFunc(labels, func(l string) bool { return !label.MatchString(l) }):
		return fmt.Errorf("invalid domain %q; %s", domain, example)
	}
	return nil
}

// checkDirectory checks the URL of an authority's directory. It accepts plain HTTP only on this machine, because
// without TLS an attacker on the network could replace the authority's responses.
func checkDirectory(text string) error {
	u, err := url.Parse(text)
	if err != nil || !isHTTP(u) || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("invalid URL %q; expected a URL such as %s", text, acme.DefaultDirectory)
	}
	if u.Scheme == "http" && !isLoopback(u.Hostname()) {
		return fmt.Errorf("%q does not use TLS; expected an https URL", text)
	}
	return nil
}

// prepareACME creates the folder for the certificate and makes the manager write to the log.
func prepareACME(manager *acme.Manager, log *slog.Logger, throttle *admission.LogThrottle) error {
	if err := manager.Folder.Create(); err != nil {
		return usagef("--acme-cache: %w", err)
	}
	names := strings.Join(manager.Domains, " ")
	manager.Obtained = func(expires time.Time) {
		log.Info("certificate obtained", "names", names, "expires", expires)
	}
	manager.Report = func(err error, retry time.Duration) {
		throttle.Log(log, admission.BackgroundErrors, slog.LevelWarn, "certificate", "cannot obtain a certificate", "names", names, "error", err, "retry_in", retry)
	}
	return nil
}
