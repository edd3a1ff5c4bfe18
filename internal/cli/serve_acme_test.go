package cli

import (
	"os"
	"strings"
	"testing"

	"animalstore/internal/programtest"
	"animalstore/internal/shoptest"
)

// Each invalid value causes a one-line error, and no file is written.
func TestInvalidACMESettingsAreRefused(t *testing.T) {
	folder := newFolder(t)
	folder.Write("file", "")
	// The address is in use, so that a value that is accepted by mistake does not start a service.
	t.Setenv("ANIMALSTORE_ADDR", programtest.TakenAddr(t))
	const domain = "--acme-domain pets.example.com "
	for args, words := range map[string]string{
		"--acme-domain 192.0.2.1":                           "--acme-domain: 192.0.2.1 is an IP address; expected a domain such as pets.example.com",
		"--acme-domain 2001:db8::1":                         "--acme-domain: 2001:db8::1 is an IP address",
		"--acme-domain *.example.com":                       "--acme-domain: \"*.example.com\" is a wildcard",
		"--acme-domain localhost":                           "--acme-domain: invalid domain \"localhost\"",
		"--acme-domain pets.example.com:443":                "--acme-domain: invalid domain",
		"--acme-domain https://pets.example.com":            "--acme-domain: invalid domain",
		"--acme-domain pets.example.com.":                   "--acme-domain: invalid domain",
		"--acme-domain pets_.example.com":                   "--acme-domain: invalid domain",
		"--acme-domain tierhüte.example":                    "--acme-domain: invalid domain",
		"--acme-domain 1.2.3":                               "--acme-domain: invalid domain",
		"--acme-domain a.example,A.example":                 "--acme-domain: a.example is there twice",
		domain + "--tls-cert file --tls-key file":           "--acme-domain and --tls-cert are mutually exclusive",
		domain + "--acme-email Ann":                         "--acme-email: invalid address \"Ann\"",
		domain + "--acme-email Ann<ann@example.com>":        "--acme-email: invalid address",
		domain + "--acme-cache file":                        "--acme-cache: file is not a folder",
		domain + "--acme-cache missing/folder":              "--acme-cache: the folder missing, in which the folder would be created, does not exist",
		domain + "--acme-cache /proc/acme":                  "--acme-cache: the folder /proc/acme",
		domain + "--acme-directory http://ca.example/dir":   "--acme-directory: \"http://ca.example/dir\" does not use TLS",
		domain + "--acme-directory ca.example":              "--acme-directory: invalid URL",
		domain + "--database postgres://db.example/animals": "--acme-cache: set it to a folder for the certificate",
		"--acme-email ann@example.com":                      "--acme-email: set --acme-domain, too",
		"--acme-cache .":                                    "--acme-cache: set --acme-domain, too",
		"--acme-directory https://ca.example/dir":           "--acme-directory: set --acme-domain, too",
	} {
		expectRefusal(t, animalstore(t, append([]string{"serve"}, strings.Fields(args)...)...), exitUsage, words)
	}
	if names := folder.Names(); len(names) != 1 {
		t.Errorf("files: got %q, want only the one from before", names)
	}
}

// doctor examines the certificate in the cache, and warns if there is none yet.
func TestDoctorExaminesCertificateFromAuthority(t *testing.T) {
	folder := newFolder(t)
	succeed(t, "keys", "create", "--name", "n")
	args := []string{"doctor", "--acme-domain", "localhost.example", "--acme-directory", "https://ca.example/dir", "--acme-cache", ".", "--addr", "127.0.0.1:0",
		"--public-url", "https://pets.example/v1"}
	if r := animalstore(t, args...); !strings.Contains(r.Stdout, "warning  certificate  the authority has not issued a certificate yet") {
		t.Errorf("without a certificate: got %v", r)
	}
	cert, key := programtest.NewAuthority(t).IssueAged(88*day, 2*day)
	shoptest.OK(t, os.Mkdir("ca.example_dir", 0o700))
	folder.Write("ca.example_dir/certificate.pem", key+cert)
	expectAdvice(t, animalstore(t, args...).Stdout, "problem  certificate  the certificate expires in 48h", "Check that the service runs.")
	expectAdvice(t, animalstore(t, args...).Stdout, "warning  certificate  the certificate is not valid for pets.example", "Add the host in --public-url to --acme-domain.")
	folder.Write("ca.example_dir/certificate.pem", "damaged")
	expectAdvice(t, animalstore(t, args...).Stdout, "problem  certificate  tls: failed to find any PEM data", "Restart the service: it orders a new certificate")
}

// expectAdvice checks that the output of doctor contains the finding, with the advice on the next line.
func expectAdvice(t *testing.T, output, finding, advice string) {
	t.Helper()
	_, after, found := strings.Cut(output, finding)
	if _, action, _ := strings.Cut(after, "\n"); !found || !strings.HasPrefix(strings.TrimSpace(action), "→ "+advice) {
		t.Errorf("got\n%swant %q and then %q", output, finding, advice)
	}
}
