package client

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"
	"time"
)

// maxMessage is the maximum size in bytes of one line in a stream and of the data in one message. The service
// never sends more.
const maxMessage = 1 << 20

var errTooLarge = errors.New("an event is too large")

// sseMessage is one message in an event stream. An empty line ends each message.
type sseMessage struct {
	name    string // empty if the message has no event field
	data    []byte // valid until the next message is read
	hasData bool   // a message without data is not an event, but its id still counts
	id      string // the last id in the stream so far, from this or an earlier message
}

// sseReader reads server-sent events as defined in the HTML standard. It keeps only one line and one message
// in memory.
type sseReader struct {
	in      *bufio.Reader
	started bool // whether the first line was read; only that line may start with a byte order mark
	afterCR bool // whether the last byte was a CR; a following LF belongs to the same line ending
	line    []byte
	data    []byte
	id      string
	retry   time.Duration // the value of the last retry field; negative if there was none
}

func newSSEReader(in io.Reader) *sseReader { return &sseReader{in: bufio.NewReader(in), retry: -1} }

// next returns the next message. It drops an incomplete message at the end of the stream.
func (s *sseReader) next() (sseMessage, error) {
	var b sseMessage
	s.data = s.data[:0]
	for {
		if err := s.readLine(); err != nil {
			return sseMessage{}, err
		}
		if len(s.line) == 0 {
			break
		}
		if err := s.parseField(&b); err != nil {
			return sseMessage{}, err
		}
	}
	b.id, b.hasData = s.id, len(s.data) > 0
	b.data = bytes.TrimSuffix(s.data, []byte("\n"))
	return b, nil
}

// readLine reads one line, which ends with LF, CR or CRLF. It returns immediately after a CR, because an LF
// may never follow.
func (s *sseReader) readLine() error {
	s.line = s.line[:0]
	for {
		c, err := s.in.ReadByte()
		if err != nil {
			return err
		}
		second := s.afterCR && c == '\n'
		s.afterCR = c == '\r'
		switch {
		case second:
		case c == '\r' || c == '\n':
			if !s.started {
				s.started = true
				s.line = bytes.TrimPrefix(s.line, []byte("\xEF\xBB\xBF"))
			}
			return nil
		case len(s.line) == maxMessage:
			return errTooLarge
		default:
			s.line = append(s.line, c)
		}
	}
}

// parseField handles one line that is not empty. It ignores comments and unknown fields.
func (s *sseReader) parseField(b *sseMessage) error {
	name, value, _ := bytes.Cut(s.line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		b.name = string(value)
	case "data":
		if len(s.data)+len(value) > maxMessage {
			return errTooLarge
		}
		s.data = append(append(s.data, value...), '\n')
	case "id":
		if !bytes.Contains(value, []byte{0}) {
			s.id = string(value)
		}
	case "retry":
		if millis, ok := parseDigits(string(value)); ok {
			s.retry = time.Duration(min(millis, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
		}
	}
	return nil
}

// parseDigits parses a text that consists only of digits. If the number does not fit in an int64, parseDigits returns
// the largest int64.
func parseDigits(text string) (int64, bool) {
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil || errors.Is(err, strconv.ErrRange)
}
