package webhook

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"animalstore/internal/shop"
)

const (
	// attemptTimeout limits an attempt, from the DNS lookup to the end of the response.
	attemptTimeout = shop.ClaimDuration / 2
	// bodyTimeout limits the reading of a response body, which is only kept for the delivery log.
	bodyTimeout = 2 * time.Second
	// maxStoredBody is how much of a response body is stored.
	maxStoredBody = 1024
	// maxDrained is how much more of it is read, so that the connection can be reused.
	maxDrained = 4 << 10
	// maxResponseHeader limits the size of the response headers.
	maxResponseHeader = 32 << 10
)

// sender sends messages. It follows no redirects and uses no proxy: both would bypass the address check.
type sender struct {
	transport *http.Transport
	userAgent string
	timeout   time.Duration
	now       func() time.Time
}

// newSender returns a sender that connects only to addresses for which check returns nil; a nil check allows
// all. A nil resolver is the system's.
func newSender(version string, check func(netip.Addr) error, resolver *net.Resolver) *sender {
	dialer := &net.Dialer{Timeout: attemptTimeout, Resolver: resolver}
	if check != nil {
		// Checked after the DNS lookup, on the address that is dialled: the next lookup could return another
		// one.
		dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			return check(to.Addr())
		}
	}
	return &sender{
		userAgent: "animalstore/" + strings.Trim(version, "()"), // "(devel)" is not valid in a User-Agent
		timeout:   attemptTimeout,
		now:       time.Now,
		transport: &http.Transport{
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    attemptTimeout,
			MaxResponseHeaderBytes: maxResponseHeader,
			MaxIdleConnsPerHost:    maxInFlight,
			MaxIdleConns:           1000,
			IdleConnTimeout:        time.Minute,
			DisableCompression:     true, // the stored excerpt must be readable
			ForceAttemptHTTP2:      true,
		},
	}
}

func (s *sender) close() { s.transport.CloseIdleConnections() }

// send makes one attempt. after is the receiver's Retry-After, or 0.
func (s *sender) send(ctx context.Context, claim shop.Claim) (attempt shop.Attempt, after time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	start := time.Now()
	attempt.At = s.now().UTC().Truncate(time.Microsecond)
	response, err := s.post(ctx, claim, attempt.At)
	if err == nil {
		timer := time.AfterFunc(bodyTimeout, cancel)
		defer timer.Stop()
		attempt.Status = response.StatusCode
		if attempt.Status != http.StatusSwitchingProtocols { // its body is the raw connection, which no context interrupts
			attempt.Response = bodyExcerpt(response.Body)
		}
		after = parseRetryAfter(response.Header.Get("Retry-After"), s.now())
		response.Body.Close()
	} else {
		attempt.Error = errorMessage(err, s.timeout)
	}
	attempt.Duration = time.Since(start)
	return attempt, after
}

func (s *sender) post(ctx context.Context, claim shop.Claim, at time.Time) (*http.Response, error) {
	signature, err := sign(claim, at)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, claim.URL, bytes.NewReader(claim.Body))
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"Content-Type":      "application/cloudevents+json; charset=utf-8",
		"User-Agent":        s.userAgent,
		"webhook-id":        claim.MessageID,
		"webhook-timestamp": timestamp(at),
		"webhook-signature": signature,
	} {
		request.Header.Set(name, value)
	}
	return s.transport.RoundTrip(request) // http.Client would parse the Location of a redirect
}

// bodyExcerpt returns the first bytes of a response body as valid UTF-8. It also works on a body that breaks
// off.
func bodyExcerpt(body io.Reader) string {
	read, _ := io.ReadAll(io.LimitReader(body, maxStoredBody+1))
	_, _ = io.CopyN(io.Discard, body, maxDrained)
	text := string(read)
	if len(text) > maxStoredBody {
		text = truncate(text)
	}
	return truncate(strings.ToValidUTF8(text, "\uFFFD")) // the replacement may have lengthened it
}

// truncate cuts a text to maxStoredBody, at a character boundary.
func truncate(text string) string {
	if len(text) <= maxStoredBody {
		return text
	}
	end := maxStoredBody
	for end > maxStoredBody-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// parseRetryAfter parses a Retry-After header, in seconds or as a date. It returns 0 for a missing or invalid
// one.
func parseRetryAfter(value string, now time.Time) time.Duration {
	const maxDelay = 365 * 24 * time.Hour // avoids overflow; the shop applies its own limit
	if seconds, err := strconv.ParseUint(value, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, maxDelay)
	}
	if date, err := http.ParseTime(value); err == nil {
		return min(max(0, date.Sub(now)), maxDelay)
	}
	return 0
}
