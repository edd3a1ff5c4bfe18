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

// maxMessage bounds a line of a stream, and the data of one event: what is larger was not sent by the service.
const maxMessage = 1 << 20

var errTooLarge = errors.New("an event is too large")

// sseMessage is what stands before one empty line of a stream.
type sseMessage struct {
	name    string // empty: none was given
	data    []byte // valid until the next block is read
	hasData bool   // without any there is nothing to tell; the id counts all the same
	id      string // the last one that was given, in this block or before
}

// sseReader reads server-sent events as the HTML standard has them. It keeps one line and one event in memory.
type sseReader struct {
	in      *bufio.Reader
	started bool // the byte order mark can only stand at the start
	afterCR bool // a line feed still belongs to the line before
	line    []byte
	data    []byte
	id      string
	retry   time.Duration // what the stream last said about when to come back; negative: nothing
}

func newSSEReader(in io.Reader) *sseReader { return &sseReader{in: bufio.NewReader(in), retry: -1} }

// next reads up to the next empty line. What comes after the last of them is not whole, and is not returned.
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

// readLine reads one line, which ends with a line feed, a carriage return, or both. After a carriage return nothing is
// waited for: the line feed may never come.
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

// parseField takes in one line that is not empty. Comments, and fields that nobody knows, say nothing.
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

// parseDigits reads a number that has nothing but digits; one that is out of range is the largest.
func parseDigits(text string) (int64, bool) {
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil || errors.Is(err, strconv.ErrRange)
}
