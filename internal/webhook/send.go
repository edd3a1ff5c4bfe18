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
	// attemptTimeout is how long an attempt may take, from the look-up of the name to the end of the answer.
	attemptTimeout = shop.ClaimFor / 2
	// bodyTimeout is how long the rest of an answer may take: it is only for the log.
	bodyTimeout = 2 * time.Second
	// maxStoredBody is how much of an answer is kept, and drained how much more is read, so that the connection can be used again.
	maxStoredBody = 1024
	maxDrained    = 4 << 10
	// maxResponseHeader is how large the header of an answer may be.
	maxResponseHeader = 32 << 10
)

// sender sends messages. It follows no redirect and uses no proxy: both would lead past the check of the address.
type sender struct {
	transport *http.Transport
	userAgent string
	timeout   time.Duration
	now       func() time.Time
}

// newSender makes a sender that asks check before it connects to an address; nil allows all. The resolver looks names up; nil
// is the system's.
func newSender(version string, check func(netip.Addr) error, resolver *net.Resolver) *sender {
	dialer := &net.Dialer{Timeout: attemptTimeout, Resolver: resolver}
	if check != nil {
		// It is asked after the name was looked up, about the very address: a name may mean something else each time.
		dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			return check(to.Addr())
		}
	}
	return &sender{
		userAgent: "animalstore/" + strings.Trim(version, "()"), // of which a version has none
		timeout:   attemptTimeout,
		now:       time.Now,
		transport: &http.Transport{
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    attemptTimeout,
			MaxResponseHeaderBytes: maxResponseHeader,
			MaxIdleConnsPerHost:    maxInFlight,
			MaxIdleConns:           1000,
			IdleConnTimeout:        time.Minute,
			DisableCompression:     true, // what is kept is what was sent
			ForceAttemptHTTP2:      true,
		},
	}
}

func (s *sender) close() { s.transport.CloseIdleConnections() }

// send makes one attempt. after is how long the receiver wants to be left alone; 0: it did not say.
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
		if attempt.Status != http.StatusSwitchingProtocols { // behind that comes no answer, and no context ends the reading
			attempt.Answer = bodyExcerpt(response.Body)
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
	return s.transport.RoundTrip(request) // an http.Client would look at where a redirect leads
}

// bodyExcerpt reads the first bytes of an answer, as text that can be stored and shown. An answer that breaks off has one, too.
func bodyExcerpt(body io.Reader) string {
	read, _ := io.ReadAll(io.LimitReader(body, maxStoredBody+1))
	_, _ = io.CopyN(io.Discard, body, maxDrained)
	text := string(read)
	if len(text) > maxStoredBody {
		text = truncate(text)
	}
	return truncate(strings.ToValidUTF8(text, "\uFFFD")) // which may have made it longer
}

// truncate shortens a text to what is kept, between two characters.
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

// parseRetryAfter reads how long a receiver wants to be left alone: seconds, or a date; 0 where it does not say.
func parseRetryAfter(value string, now time.Time) time.Duration {
	const maxDelay = 365 * 24 * time.Hour // the shop has a limit of its own
	if seconds, err := strconv.ParseUint(value, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, maxDelay)
	}
	if date, err := http.ParseTime(value); err == nil {
		return min(max(0, date.Sub(now)), maxDelay)
	}
	return 0
}
