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

// maxMessage limits a line of a stream and the data of one message. The service sends nothing larger.
const maxMessage = 1 << 20

var errTooLarge = errors.New("an event is too large")

// sseMessage is one message of a stream, up to an empty line.
type sseMessage struct {
	name    string // empty if there was no event field
	data    []byte // valid until the next message is read
	hasData bool   // a message without data is not an event, but its id counts
	id      string // the last id of the stream, in this message or before
}

// sseReader reads server-sent events as the HTML standard defines them. It keeps one line and one message in
// memory.
type sseReader struct {
	in      *bufio.Reader
	started bool // a byte order mark is only allowed at the start
	afterCR bool // a line feed still belongs to the previous line
	line    []byte
	data    []byte
	id      string
	retry   time.Duration // the last retry field; negative if there was none
}

func newSSEReader(in io.Reader) *sseReader { return &sseReader{in: bufio.NewReader(in), retry: -1} }

// next returns the next message. An incomplete message at the end of the stream is dropped.
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

// readLine reads one line, which ends with LF, CR or CRLF. After a CR it returns at once: an LF may never come.
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

// parseField handles one line that is not empty. Comments and unknown fields are ignored.
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

// parseDigits parses a number that consists of digits only. A number out of range becomes the maximum.
func parseDigits(text string) (int64, bool) {
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil || errors.Is(err, strconv.ErrRange)
}
