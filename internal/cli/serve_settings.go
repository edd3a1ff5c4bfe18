package cli

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"animalstore/internal/acme"
	"animalstore/internal/backup"
	"animalstore/internal/server"
)

// settings holds the parsed values of the flags for serve.
type settings struct {
	configuredKey     string
	rateLimit         int                 // 0 if there is no limit
	today             func() time.Time    // nil to use the current date
	eventRetention    time.Duration       // 0 to keep events forever
	customerRetention time.Duration       // 0 to keep customers until they are erased
	photoQuota        int64               // in bytes
	onPhotoMemory     func(bytes int64)   // see photoMemory
	certificate       *server.Certificate // nil to serve plain HTTP
	acme              *acme.Manager       // nil if the certificate does not come from an ACME authority
	location          *time.Location      // the shop's time zone
	backupFolder      *backup.Folder      // nil if there are no scheduled backups
	backupInterval    time.Duration
	backupKeep        int
}

// settings checks and parses all flags before the command has any effect.
func (s *serveCommand) settings() (settings, error) {
	var parsed settings
	if err := checkAddr(s.Addr); err != nil {
		return parsed, usagef("--addr: %w", err)
	}
	if err := checkDatabase(s.Database, databaseVariable); err != nil {
		return parsed, usagef("--database: %w", err)
	}
	if err := checkBaseURL(s.PublicURL); err != nil {
		return parsed, usagef("--public-url: %w", err)
	}
	if err := checkBaseURL(s.StagingURL); err != nil {
		return parsed, usagef("--staging-url: %w", err)
	}
	for _, origin := range s.CORSOrigin {
		if err := checkOrigin(origin); err != nil {
			return parsed, usagef("--cors-origin: %w", err)
		}
	}
	if err := checkHold(s.OrderHold); err != nil {
		return parsed, usagef("--order-hold: %w", err)
	}
	if s.MaxConnections < 1 {
		return parsed, usagef("--max-connections: %d is out of range; expected 1 or more", s.MaxConnections)
	}
	var err error
	if parsed.rateLimit, err = parseRate(s.RateLimit); err != nil {
		return parsed, usagef("--rate-limit: %w", err)
	}
	if parsed.eventRetention, err = parseRetention(s.EventRetention); err != nil {
		return parsed, usagef("--event-retention: %w", err)
	}
	if parsed.customerRetention, err = parseRetention(s.CustomerRetention); err != nil {
		return parsed, usagef("--customer-retention: %w", err)
	}
	if parsed.photoQuota, err = parseSize(s.PhotoQuota); err != nil {
		return parsed, usagef("--photo-quota: %w", err)
	}
	if parsed.location, err = parseTimeZone(s.TimeZone); err != nil {
		return parsed, usagef("--time-zone: %w", err)
	}
	if s.APIDate != "" {
		date, err := time.Parse(time.DateOnly, s.APIDate)
		if err != nil {
			return parsed, usagef("--api-date: invalid date %q; expected a date such as 2030-12-05", s.APIDate)
		}
		parsed.today = func() time.Time { return date }
	}
	if err := s.acmeSettings(&parsed); err != nil {
		return parsed, err
	}
	if (s.TLSCert == "") != (s.TLSKey == "") {
		return parsed, usagef("--tls-cert and --tls-key: set both or neither")
	}
	if s.TLSCert != "" {
		if parsed.certificate, err = server.LoadCertificate(s.TLSCert, s.TLSKey); err != nil {
			return parsed, usagef("--tls-cert, --tls-key: %w", err)
		}
	}
	if err := s.backupSettings(&parsed); err != nil {
		return parsed, err
	}
	parsed.configuredKey, err = configuredKey(s.APIKeyFile)
	return parsed, err
}

func checkAddr(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("invalid address %q; expected host:port", addr)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || port != strconv.FormatUint(n, 10) {
		return fmt.Errorf("invalid port %q; expected a number from 0 to 65535", port)
	}
	return nil
}

// checkBaseURL checks the base URL of the API. An empty URL is valid.
func checkBaseURL(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || !isHTTP(u) || !strings.HasSuffix(u.Path, "/v1") || u.Scheme+"://"+u.Host+u.EscapedPath() != text {
		return fmt.Errorf("invalid URL %q; expected a URL such as https://pets.example.com/v1", text)
	}
	return nil
}

// checkOrigin checks that an origin is written exactly as browsers send it. In any other form it would never
// match.
func checkOrigin(origin string) error {
	if origin == "*" {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || !isHTTP(u) || strings.Contains(u.Host, "*") || u.Scheme+"://"+u.Host != origin ||
		origin != strings.ToLower(origin) || u.Scheme == "http" && u.Port() == "80" || u.Scheme == "https" && u.Port() == "443" {
		return fmt.Errorf("invalid origin %q; expected an origin as browsers send it, such as https://shop.example.com", origin)
	}
	return nil
}

// isHTTP reports whether a URL is a valid HTTP or HTTPS address. It is stricter about the host than Go's
// parser.
func isHTTP(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && !strings.ContainsAny(u.Host, `<>"`)
}

// checkHold checks that the value of --order-hold is within its limits.
func checkHold(hold time.Duration) error {
	const least, most = time.Second, 10 * 365 * 24 * time.Hour
	if hold < least || hold > most {
		return fmt.Errorf("%s is out of range; expected %s to %s", hold, least, most)
	}
	return nil
}

// parseRate parses the value of --rate-limit. It returns 0 for "off".
func parseRate(text string) (int, error) {
	if text == "off" {
		return 0, nil
	}
	const most = 1_000_000
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("invalid rate %q; expected off or a number from 1 to %d", text, most)
	}
	return n, nil
}

// parseRetention parses the value of --event-retention or --customer-retention. It returns 0 for "off". There is a minimum,
// so that clients have time to catch up.
func parseRetention(text string) (time.Duration, error) {
	if text == "off" {
		return 0, nil
	}
	const least = time.Hour
	d, err := parseDuration(text)
	if err != nil || d < least {
		return 0, fmt.Errorf("invalid duration %q; expected off or a duration of at least 1h, such as 30d or 720h", text)
	}
	return d, nil
}

// sizeUnits are the units of sizes. Those of two letters are powers of 1,000.
var sizeUnits = map[string]int64{"kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}

// parseSize parses a number of bytes with a unit, such as 10GB.
func parseSize(text string) (int64, error) {
	digits := strings.TrimRight(text, "kKMGTiB")
	unit := sizeUnits[text[len(digits):]]
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || n == 0 || unit == 0 || int64(n) > math.MaxInt64/2/unit {
		return 0, fmt.Errorf("invalid size %q; expected a whole number with a unit, such as 500MB, 10GB or 2TB", text)
	}
	return int64(n) * unit, nil
}

// minKeyLength is the minimum length of a configured key. Shorter keys are too easy to guess.
const minKeyLength = 16

// configuredKey reads the operator's own admin key from the file or, if no file is given, from the
// environment. It returns "" if there is no such key. Its errors never contain any part of the key.
func configuredKey(file string) (string, error) {
	source, key := "ANIMALSTORE_API_KEY", os.Getenv("ANIMALSTORE_API_KEY")
	if file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", usagef("--api-key-file: %w", err)
		}
		source, key = "--api-key-file", strings.TrimSpace(string(content))
	} else if key == "" {
		return "", nil
	}
	if len(key) < minKeyLength {
		return "", usagef("%s: the key must have at least %d characters", source, minKeyLength)
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", usagef("%s: the key may contain only visible ASCII characters and no spaces", source)
	}
	return key, nil
}
