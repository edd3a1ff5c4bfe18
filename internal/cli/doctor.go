package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"

	"animalstore/internal/doctor"
)

// doctorCommand examines everything that the service depends on, such as its settings, disk and database, without
// changing anything. It accepts the same flags as serve.
type doctorCommand struct {
	JSON    bool         `name:"json" help:"Print each finding as a JSON object on its own line."`
	Service serveCommand `embed:""`
}

// Help explains the flags and the exit codes.
func (doctorCommand) Help() string {
	return "The flags and environment variables are those of serve, so that doctor examines what serve would use. It changes nothing, " +
		"and works with and without a running service.\n\n" +
		"Exit codes: 0 no problems, 1 problems, 2 usage error. Warnings do not count as problems."
}

// Run prints the findings and fails if there is a problem.
func (d *doctorCommand) Run(ctx context.Context, t terminal) error {
	p := &findingPrinter{json: d.JSON, out: t}
	config := d.checkSettings(p.print)
	d.checkService(ctx, p.print)
	doctor.Examine(ctx, config, p.print)
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted: the examination is incomplete")
	case p.err != nil:
		return p.err
	case p.problems > 0:
		return fmt.Errorf("problems: %d; warnings: %d", p.problems, p.warnings)
	}
	_, err := fmt.Fprintf(t.err, "No problems found; warnings: %d.\n", p.warnings)
	return err
}

// checkSettings reports whether serve would accept the settings, and returns the configuration for the other checks.
func (d *doctorCommand) checkSettings(report func(doctor.Finding)) doctor.Config {
	s := &d.Service
	config := doctor.Config{Database: s.Database, TLSCert: s.TLSCert, TLSKey: s.TLSKey, APIKeyFile: s.APIKeyFile, MaxConnections: s.MaxConnections}
	if public, err := url.Parse(s.PublicURL); err == nil {
		config.PublicHost = public.Hostname()
	}
	if checkDatabase(s.Database, databaseVariable) != nil {
		// An invalid address is not examined, because it may contain a password. s.settings reports it below.
		config.Database = ""
	}
	settings, err := s.settings()
	config.BackupFolder, config.BackupInterval = settings.backupFolder, settings.backupInterval
	if err != nil {
		report(doctor.Finding{Check: "settings", Status: doctor.Problem, Message: err.Error(),
			Action: "Correct the flag or its environment variable; animalstore serve does not start with it."})
		return config
	}
	report(doctor.Finding{Check: "settings", Status: doctor.OK, Message: "serve accepts the settings"})
	if host, _, _ := net.SplitHostPort(s.Addr); settings.certificate == nil && !isLoopback(host) {
		report(doctor.Finding{Check: "settings", Status: doctor.Warning,
			Message: "the service listens on " + s.Addr + " without TLS, so keys can be read on the network",
			Action:  "Set --tls-cert and --tls-key, or --acme-domain, or let only a proxy that uses TLS reach the address."})
	}
	if settings.acme != nil {
		d.checkACME(settings.acme.Folder.CertificateFile(), &config, report)
	}
	return config
}

// checkACME makes doctor examine the certificate that the authority has issued. If there is none yet, it reports a
// warning.
func (d *doctorCommand) checkACME(file string, config *doctor.Config, report func(doctor.Finding)) {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		report(doctor.Finding{Check: "certificate", Status: doctor.Warning, Message: "the authority has not issued a certificate yet",
			Action: "Start the service; its log says \"certificate obtained\", or why it cannot obtain one."})
		return
	}
	config.TLSCert, config.TLSKey, config.ACME = file, file, true
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// checkService asks the service, if one is running, whether it is ready.
func (d *doctorCommand) checkService(ctx context.Context, report func(doctor.Finding)) {
	health := healthCommand{addressFlags{Addr: d.Service.Addr, TLSCert: d.Service.TLSCert, ACMEDomain: d.Service.ACME.Domain}}
	if _, port, err := net.SplitHostPort(health.Addr); err != nil || port == "0" {
		return // the service's address is not known
	}
	finding := doctor.Finding{Check: "service", Status: doctor.OK, Message: "the service at " + health.url() + " is ready"}
	if err := health.check(ctx); isNetworkError(err) {
		finding.Message = "no service answers at " + health.url()
	} else if err != nil {
		finding.Status, finding.Message = doctor.Problem, err.Error()
		finding.Action = "The log of the service says more; see \"Troubleshooting\" in operating.md."
	}
	report(finding)
}

// findingPrinter prints findings as they arrive and counts them.
type findingPrinter struct {
	json               bool
	out                terminal
	problems, warnings int
	err                error // the first error while printing
}

func (p *findingPrinter) print(f doctor.Finding) {
	switch f.Status {
	case doctor.Problem:
		p.problems++
	case doctor.Warning:
		p.warnings++
	}
	err := p.write(f)
	if p.err == nil {
		p.err = err
	}
}

func (p *findingPrinter) write(f doctor.Finding) error {
	if p.json {
		return printJSON(p.out.out, f)
	}
	_, err := fmt.Fprintf(p.out.out, "%-8s %-12s %s\n", f.Status, f.Check, escapeControls(f.Message))
	if err == nil && f.Action != "" {
		_, err = fmt.Fprintf(p.out.out, "%-21s → %s\n", "", escapeControls(f.Action))
	}
	return err
}
