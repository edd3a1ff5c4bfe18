package client

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// FuzzVerifyWebhook checks that no forged message is accepted, that no error reveals the secret, and that
// nothing panics.
func FuzzVerifyWebhook(f *testing.F) {
	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte("a secret of the webhook, for tests"))
	now := strconv.FormatInt(time.Now().Unix(), 10)
	for _, signature := range []string{"", "v1", "v1,", "v1,AAAA", "v1a,AAAA v1,AAAA", "v2,x v1,", " ", ",,,"} {
		f.Add("msg_1", now, signature, []byte(`{"id":"1","type":"pet.created"}`), secret)
	}
	f.Add("", "x", "v1,AAAA", []byte(`{`), "whsec_")
	f.Add("msg_1", "-9223372036854775808", "v1,AAAA", []byte(nil), "not a secret")
	f.Fuzz(func(t *testing.T, id, sent, signature string, body []byte, given string) {
		header := http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {sent}, "Webhook-Signature": {signature}}
		if event, err := VerifyWebhook(header, body, secret); err == nil {
			t.Fatalf("%+v was accepted", event)
		}
		if _, err := VerifyWebhook(header, body, given); err != nil && len(given) > 12 && strings.Contains(err.Error(), given) {
			t.Fatalf("%v reveals the secret", err)
		}
	})
}

// FuzzErrorResponse checks that every failed response becomes an error with a code and a message, that the backoff is
// at least as long as Retry-After, and that every link target comes from the Link header.
func FuzzErrorResponse(f *testing.F) {
	for _, text := range []string{"", "{}", `{"code":7}`, "<html>", `{"code":"unavailable","message":"x","status":503}`,
		`<a>; rel="first", <b>; rel="next"`, `<a>; title="a, b"; rel=next`, `<a`, `>;,<`, `<>; rel=next`} {
		f.Add(503, text, "1")
	}
	for _, after := range []string{"Wed, 21 Oct 2037 07:28:00 GMT", "99999999999999999999", "-1"} {
		f.Add(429, "", after)
	}
	f.Fuzz(func(t *testing.T, status int, text, after string) {
		header := http.Header{"Retry-After": {after}, "Link": {text}}
		e := apiResponse{status: status, header: header, body: []byte(text)}.asError()
		if e == nil || e.Code == "" || e.RetryAfter < 0 || e.Error() == "" || backoff(1, e) < e.RetryAfter {
			t.Fatalf("%d %q %q: %+v", status, text, after, e)
		}
		if target, found := nextLink(header); found && !strings.Contains(text, "<"+target) || !found && target != "" {
			t.Fatalf("%q links to %q", text, target)
		}
	})
}

// read reads a stream to its end and describes each message in one string.
func read(in io.Reader) (described []string, retry time.Duration, err error) {
	s := newSSEReader(in)
	for {
		b, err := s.next()
		if err != nil {
			return described, s.retry, err
		}
		described = append(described, describe(b.name, b.id, string(b.data), b.hasData))
	}
}

func describe(name, id, data string, hasData bool) string {
	if !hasData {
		return fmt.Sprintf("id %q", id) // without data, the name is ignored
	}
	return fmt.Sprintf("id %q name %q data %q", id, name, data)
}

// readReference is a simple implementation of read. FuzzSSE checks that both give the same results.
func readReference(text string) (described []string, retry time.Duration) {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(text, "\uFEFF"))
	lines := strings.Split(text, "\n")
	var name, data, id string
	retry = -1
	for _, line := range lines[:len(lines)-1] { // skip the last line, which is incomplete
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			described = append(described, describe(name, id, strings.TrimSuffix(data, "\n"), data != ""))
			name, data = "", ""
		case field == "event":
			name = value
		case field == "data":
			data += value + "\n"
		case field == "id" && !strings.Contains(value, "\x00"):
			id = value
		case field == "retry" && value != "" && strings.Trim(value, "0123456789") == "":
			millis := int64(0)
			for _, digit := range value {
				if millis = millis*10 + int64(digit-'0'); millis > math.MaxInt64/int64(time.Millisecond) {
					millis = math.MaxInt64 / int64(time.Millisecond)
					break
				}
			}
			retry = time.Duration(millis) * time.Millisecond
		}
	}
	return described, retry
}

func TestReadSSE(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"retry: 2\nid: 6\n\nid: 7\ndata: {}\n\n:\n\n:\nid: 9\n\n": {`id "6"`, `id "7" name "" data "{}"`, `id "7"`, `id "9"`},
		"data:  x\ndata\ndata:a:b\n\n":                            {`id "" name "" data " x\n\na:b"`},
		"event: a\ndata: x\n\nevent: b\n\ndata\n\n":               {`id "" name "a" data "x"`, `id ""`, `id "" name "" data ""`},
		"id: 7\n\nid: 8\x009\n\nid\n\n":                           {`id "7"`, `id "7"`, `id ""`},
		"\uFEFFdata: a\r\ndata: b\rdata: c\n\r\nData: x\n\n":      {`id "" name "" data "a\nb\nc"`, `id ""`},
		"data: x\n\nid: 7\ndata: y\n":                             {`id "" name "" data "x"`}, // the last message is not complete
	} {
		got, retry, err := read(strings.NewReader(text))
		reference, wantRetry := readReference(text)
		if !slices.Equal(got, want) || !slices.Equal(reference, want) || retry != wantRetry || err != io.EOF {
			t.Errorf("%q: got %q, %v, %v, want %q, %v", text, got, retry, err, want, wantRetry)
		}
	}
}

// A line ends at a CR, because waiting for an LF would delay the event.
func TestSSELineEndsAtCarriageReturn(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	s := newSSEReader(in)
	for _, part := range []string{"data: x\r\r", "\ndata: y\r\n\r", "\n\n"} {
		go out.Write([]byte(part))
		if _, err := s.next(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSSESizeLimits(t *testing.T) {
	t.Parallel()
	full := strings.Repeat("x", maxMessage-len("data:"))
	for _, c := range []struct {
		name, text string
		ok         bool
	}{
		{"a line", "data:" + full + "\n\n", true},
		{"a line that is too long", "data:" + full + "x\n\n", false},
		{"a line without end", full + full, false},
		{"lines that are too long together", "data:" + full + "\ndata: 123456\n\n", false},
		{"consecutive events", "data:" + full + "\n\ndata:" + full + "\n\n", true},
		{"many comments", strings.Repeat(":"+full[:1000]+"\n", 1100) + "\n", true},
	} {
		s := newSSEReader(strings.NewReader(c.text))
		var err error
		for err == nil {
			_, err = s.next()
		}
		if (err == io.EOF) != c.ok || !c.ok && !errors.Is(err, errTooLarge) {
			t.Errorf("%s: got %v", c.name, err)
		}
		if n := cap(s.line) + cap(s.data); n > 4*maxMessage {
			t.Errorf("%s: keeps %d bytes", c.name, n)
		}
	}
}

// FuzzSSE checks that sseReader gives the same result as readReference, however the bytes of a stream arrive.
func FuzzSSE(f *testing.F) {
	for _, text := range []string{
		"", "id:7\ndata:x\n\n", "data:\tx\n\n", "data: a\ndata\ndata: b\n\n", "data:\ndata:\n\n", "event: a\nevent\ndata: x\n\n",
		"event: reset\ndata: x\n\ndata: y\n\n", "id: 7\ndata: x\n\ndata: y\n\n", "id: 7\n\nid: 8\x009\n\n", ": hello\n:\n:data: x\n\n",
		"Data: x\n data: x\nfoo\nfoo: bar\n\n", "data: a\r\rdata: b\r\r", "data: a\r\ndata: b\rdata: c\n\r\n", "data: a\n\rdata: b\n\r",
		"\uFEFFdata: x\n\n", "\uFEFF\uFEFFdata: x\n\n", "data: x\n\n\uFEFFdata: y\n\n", "\uFEFF\ndata: x\n\n", "\xEF\xBBdata: x\n\n",
		"data: \xFF\n\n", "data: x\n\nid: 7\ndata: y\n", "data: x\n\nid: 7", "retry: 2000\nid: 6\n\nid: 7\ndata: {}\n\n:\n\n",
		"retry: 0\n", "retry: 007\n", "retry: 18446744073709551616\n", "retry: 9223372036854775807\n",
		"retry\n", "retry: -1\n", "retry: 1 \n", "retry: ٣\n",
	} {
		f.Add([]byte(text), len(text)/2)
		f.Add([]byte(strings.ReplaceAll(text, "\n", "\r\n")), 1)
	}
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		if len(text) > maxMessage {
			return
		}
		want, wantRetry := readReference(string(text))
		cut = max(0, min(cut, len(text)))
		for name, in := range map[string]io.Reader{
			"as a whole":   bytes.NewReader(text),
			"in two parts": io.MultiReader(bytes.NewReader(text[:cut]), bytes.NewReader(text[cut:])),
			"byte by byte": iotest.OneByteReader(bytes.NewReader(text)),
			"with its end": iotest.DataErrReader(bytes.NewReader(text)),
		} {
			if got, retry, err := read(in); !slices.Equal(got, want) || retry != wantRetry || err != io.EOF {
				t.Errorf("%s: got %q, %v, %v, want %q, %v", name, got, retry, err, want, wantRetry)
			}
		}
		begun, _, _ := read(bytes.NewReader(text[:cut])) // later data must not change earlier messages
		if len(begun) > len(want) || !slices.Equal(begun, want[:len(begun)]) {
			t.Errorf("up to byte %d: got %q, want the start of %q", cut, begun, want)
		}
	})
}
