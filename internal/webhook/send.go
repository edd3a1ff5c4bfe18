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

	"go.opentelemetry.io/otel/propagation"

	"animalstore/internal/shop"
)

const (
	// attemptTimeout is the maximum duration of an attempt, from the DNS lookup to the end of the response.
	attemptTimeout = shop.LeaseDuration / 2
	// bodyTimeout is the maximum time for reading a response body, which is needed only for the delivery log.
	bodyTimeout = 2 * time.Second
	// maxStoredBody is the maximum number of bytes of a response body that are stored.
	maxStoredBody = 1024
	// maxDrained is the maximum number of further bytes that are read and discarded, so that the connection
	// can be reused.
	maxDrained = 4 << 10
	// maxResponseHeader is the maximum size of the response headers in bytes.
	maxResponseHeader = 32 << 10
	// maxIdleConns is the maximum number of connections that are kept open for later attempts.
	maxIdleConns = 64
)

// sender sends messages to webhooks. It follows no redirects and uses no proxy, because either would bypass
// the address check.
type sender struct {
	transport *http.Transport
	userAgent string
	timeout   time.Duration
	now       func() time.Time
}

// newSender returns a sender that connects only to addresses for which check returns nil. If check is nil,
// all addresses are allowed. If resolver is nil, the system's resolver is used.
func newSender(version string, check func(netip.Addr) error, resolver *net.Resolver) *sender {
	dialer := &net.Dialer{Timeout: attemptTimeout, Resolver: resolver}
	if check != nil {
		// The dialler calls this function with the address that it is about to connect to. Checking the host
		// name earlier would be unsafe, because the next DNS lookup could return a different address.
		dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			return check(to.Addr())
		}
	}
	return &sender{
		userAgent: "animalstore/" + strings.Trim(version, "()"), // the parentheses in "(devel)" are not valid in a User-Agent header
		timeout:   attemptTimeout,
		now:       time.Now,
		transport: &http.Transport{
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    attemptTimeout,
			MaxResponseHeaderBytes: maxResponseHeader,
			MaxIdleConnsPerHost:    shop.MaxBatch,
			MaxIdleConns:           maxIdleConns,
			IdleConnTimeout:        time.Minute,
			DisableCompression:     true, // the delivery log stores an excerpt of the body, which must be readable
			ForceAttemptHTTP2:      true,
		},
	}
}

func (s *sender) close() { s.transport.CloseIdleConnections() }

// send makes one attempt. It also returns the delay from the Retry-After header, or 0 if there is none.
func (s *sender) send(ctx context.Context, message shop.Message) (attempt shop.Attempt, after time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	start := time.Now()
	attempt.At = s.now().UTC().Truncate(time.Microsecond)
	response, err := s.post(ctx, message, attempt.At)
	if err == nil {
		timer := time.AfterFunc(bodyTimeout, cancel)
		defer timer.Stop()
		attempt.Status = response.StatusCode
		// After a switch of protocols, the body is the raw connection, which the context cannot interrupt.
		if attempt.Status != http.StatusSwitchingProtocols {
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

func (s *sender) post(ctx context.Context, message shop.Message, at time.Time) (*http.Response, error) {
	signature, err := sign(message, at)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, message.URL, bytes.NewReader(message.Body))
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"Content-Type":      "application/cloudevents+json; charset=utf-8",
		"User-Agent":        s.userAgent,
		"webhook-id":        message.MessageID,
		"webhook-timestamp": timestamp(at),
		"webhook-signature": signature,
	} {
		request.Header.Set(name, value)
	}
	// While tracing is off, this adds no header.
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(request.Header))
	// Call RoundTrip, because http.Client would parse the Location header of a redirect.
	return s.transport.RoundTrip(request)
}

// bodyExcerpt returns the beginning of a response body as valid UTF-8. If reading fails, it returns what was
// read so far.
func bodyExcerpt(body io.Reader) string {
	read, _ := io.ReadAll(io.LimitReader(body, maxStoredBody+1))
	_, _ = io.CopyN(io.Discard, body, maxDrained)
	text := string(read)
	if len(text) > maxStoredBody {
		text = truncate(text)
	}
	return truncate(strings.ToValidUTF8(text, "\uFFFD")) // replacing invalid bytes may have lengthened the text
}

// truncate shortens a text to at most maxStoredBody bytes, without splitting a character.
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

// parseRetryAfter parses a Retry-After header, which holds a number of seconds or a date. It returns 0 if the
// header is missing or invalid.
func parseRetryAfter(value string, now time.Time) time.Duration {
	const maxDelay = 365 * 24 * time.Hour // prevents an overflow; package shop applies its own, lower limit
	if seconds, err := strconv.ParseUint(value, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, maxDelay)
	}
	if date, err := http.ParseTime(value); err == nil {
		return min(max(0, date.Sub(now)), maxDelay)
	}
	return 0
}
