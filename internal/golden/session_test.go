package golden

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"animalstore/internal/programtest"
)

// host is the Host header in every request. It is fixed so that no URL in a response depends on the port.
const host = "animals.example"

// session sends requests to a running service and records a transcript. In the transcript, placeholders
// replace everything that varies between runs.
type session struct {
	*testing.T
	database string
	program  *programtest.Program
	client   *http.Client
	key      string // the key to send with every request, or "" to send no key

	transcript   strings.Builder
	placeholders []placeholder     // the placeholders in the order in which they were added
	counts       map[string]int    // the number of placeholders of each kind
	lengths      map[string]string // the Content-Length of the last recorded response, by path
}

type placeholder struct{ raw, text string }

// recordedResponse is the response to a request before any placeholders are inserted.
type recordedResponse struct {
	status int
	header http.Header
	body   string
}

// newSession starts a new service with a new database and returns a session that uses it.
func newSession(t *testing.T, engine engine, a area) *session {
	t.Helper()
	s := &session{T: t, database: engine.open(t), key: programtest.AdminKey, counts: map[string]int{}, lengths: map[string]string{},
		client: &http.Client{Timeout: programtest.WaitTimeout, Transport: &http.Transport{DisableCompression: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	t.Cleanup(s.client.CloseIdleConnections)
	s.setPlaceholder(programtest.AdminKey, "{configured key}")
	var variables []string
	if a.unconfigured {
		s.key = ""
	} else {
		variables = []string{"ANIMALSTORE_API_KEY=" + programtest.AdminKey}
	}
	if a.prepare != nil {
		a.prepare(t, s.database)
	}
	s.program = programtest.NewFolder(t, variables...).Serve(append([]string{"--database", s.database}, a.flags...)...)
	return s
}

// title starts a new section in the transcript.
func (s *session) title(text string) { fmt.Fprintf(&s.transcript, "### %s\n\n", text) }

// setPlaceholder replaces all occurrences of raw in the rest of the transcript with a placeholder.
func (s *session) setPlaceholder(raw, text string) {
	s.placeholders = append(s.placeholders, placeholder{raw, text})
}

func (s *session) hasPlaceholder(raw string) bool {
	return slices.ContainsFunc(s.placeholders, func(p placeholder) bool { return p.raw == raw })
}

// numberPlaceholder replaces all occurrences of raw with a numbered placeholder unless raw already has a
// placeholder.
func (s *session) numberPlaceholder(raw, kind string) {
	if !s.hasPlaceholder(raw) {
		s.counts[kind]++
		s.setPlaceholder(raw, fmt.Sprintf("{%s %d}", kind, s.counts[kind]))
	}
}

// send sends a request and records the request and the response. Each header field has the form "Name:
// value". A field with an empty value removes the default header with this name.
func (s *session) send(method, target, body string, fields ...string) recordedResponse {
	s.Helper()
	a := s.do(method, target, body, true, fields...)
	s.writeResponse(method, target, a)
	return a
}

// do sends a request without recording the response. It records the request only if write is true.
func (s *session) do(method, target, body string, write bool, fields ...string) recordedResponse {
	s.Helper()
	response := s.open(method, target, body, write, fields...)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatalf("%s %s: %v", method, target, err)
	}
	return recordedResponse{response.StatusCode, header(response), string(content)}
}

func (s *session) open(method, target, body string, write bool, fields ...string) *http.Response {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), method, s.program.URL+target, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	request.Host = host
	if s.key != "" {
		request.Header.Set("Authorization", "Bearer "+s.key)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ":")
		if value = strings.TrimSpace(value); value == "" {
			request.Header.Del(name)
		} else {
			request.Header.Set(name, value)
		}
	}
	if write {
		fmt.Fprintf(&s.transcript, ">>> %s %s\n", method, s.normalize(target))
		s.writeHeader(request.Header)
		if len(body) > 2000 {
			body = fmt.Sprintf("{%d bytes}", len(body))
		}
		s.writeBody(s.normalize(body))
	}
	response, err := s.client.Do(request)
	if err != nil {
		s.Fatalf("%s %s: %v", method, target, err)
	}
	return response
}

// header returns all header fields in a response, including those that net/http stores elsewhere in the
// response.
func header(response *http.Response) http.Header {
	header := response.Header.Clone()
	if response.Close {
		header.Set("Connection", "close")
	}
	if len(response.TransferEncoding) > 0 {
		header["Transfer-Encoding"] = response.TransferEncoding
	}
	return header
}

func (s *session) writeResponse(method, target string, a recordedResponse) {
	s.addPlaceholders(a.body)
	body := s.normalize(a.body)
	header := a.header.Clone()
	// The transcript omits documents. TestOpenAPI checks the OpenAPI document, and all others are prose.
	document := method == http.MethodGet && a.status == http.StatusOK &&
		(strings.HasPrefix(target, "/v1/openapi.") || strings.HasPrefix(target, "/docs"))
	if document {
		body = "{a document}\n"
	}
	if body != a.body { // the body varies, so its length and its ETag vary, too
		if header.Get("Content-Length") == strconv.Itoa(len(a.body)) {
			header.Set("Content-Length", "{length}")
			s.lengths[target] = "{length}"
		}
		if tag := header.Get("ETag"); tag != "" {
			s.numberPlaceholder(tag, "etag")
		}
	}
	if length := s.lengths[target]; method == http.MethodHead && length != "" {
		header.Set("Content-Length", length)
	}
	fmt.Fprintf(&s.transcript, "<<< %d %s\n", a.status, http.StatusText(a.status))
	s.writeHeader(header)
	s.writeBody(body)
	s.transcript.WriteString("\n")
}

func (s *session) writeHeader(header http.Header) {
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			switch name {
			case "Date":
				value = "{date}"
			case "X-Request-Id":
				value = requestID.ReplaceAllString(value, "{request id}")
			case "User-Agent":
				value = userAgent.ReplaceAllString(value, "animalstore/{version}")
			}
			fmt.Fprintf(&s.transcript, "%s: %s\n", name, s.normalize(value))
		}
	}
}

func (s *session) writeBody(body string) {
	if body == "" {
		return
	}
	fmt.Fprintf(&s.transcript, "\n%s", strings.ReplaceAll(body, "\r\n", "{CR}\n"))
	if !strings.HasSuffix(body, "\n") {
		s.transcript.WriteString("{no newline}\n")
	}
}

var (
	keyPattern    = regexp.MustCompile(`ask_(?:live|test)_[0-9A-Za-z]{30}_[0-9A-Za-z]{6}`)
	secretPattern = regexp.MustCompile(`whsec_[A-Za-z0-9+/]{43}=`)
	testPattern   = regexp.MustCompile(`test_[0-9]+`)
	timePattern   = regexp.MustCompile(`"20[2-8][0-9]-[0-9]{2}-[0-9]{2}T[0-9:.]+Z"`)
	requestID     = regexp.MustCompile(`^[a-z2-7]{26}$`)
	userAgent     = regexp.MustCompile(`^animalstore/\S+`)
	msPattern     = regexp.MustCompile(`"durationMs":[0-9]+`)
)

// addPlaceholders adds a placeholder for every key, secret and test message ID in a body.
func (s *session) addPlaceholders(body string) {
	for _, key := range keyPattern.FindAllString(body, -1) {
		s.numberPlaceholder(key, "key")
		if hint := `"hint":"` + key[len(key)-4:] + `"`; !s.hasPlaceholder(hint) {
			s.setPlaceholder(hint, `"hint":"{the end of `+strings.Trim(s.normalize(key), "{}")+`}"`)
		}
	}
	for _, secret := range secretPattern.FindAllString(body, -1) {
		s.numberPlaceholder(secret, "secret")
	}
	for _, test := range testPattern.FindAllString(body, -1) {
		s.numberPlaceholder(test, "test")
	}
}

// normalize replaces everything that varies between runs with placeholders.
func (s *session) normalize(text string) string {
	for _, name := range s.placeholders {
		text = strings.ReplaceAll(text, name.raw, name.text)
	}
	text = timePattern.ReplaceAllString(text, `"{time}"`)
	return msPattern.ReplaceAllString(text, `"durationMs":{ms}`)
}

var nextLink = regexp.MustCompile(`<(?:http://` + regexp.QuoteMeta(host) + `)?([^>]*)>; rel="next"`)

// pages requests a page of a list and then all following pages.
func (s *session) pages(target string) {
	s.Helper()
	for range 20 {
		next := nextLink.FindStringSubmatch(s.send("GET", target, "").header.Get("Link"))
		if next == nil {
			return
		}
		target = next[1]
	}
	s.Fatal("the pages do not end")
}

// getAndRevalidate sends a GET request, a conditional GET request with the ETag from the first response, and
// a HEAD request.
func (s *session) getAndRevalidate(target string) {
	s.Helper()
	tag := s.send("GET", target, "").header.Get("ETag")
	s.send("GET", target, "", "If-None-Match: "+tag)
	s.send("HEAD", target, "")
}

// stream opens an event stream and records it until n events have arrived. If then is not nil, stream calls
// it after n-1 events. The then function must cause the last event.
func (s *session) stream(target string, n int, then func(), fields ...string) {
	s.Helper()
	response := s.open("GET", target, "", true, append(fields, "Accept: text/event-stream")...)
	defer response.Body.Close()
	var body strings.Builder
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for seen := 0; seen < n; {
		if !lines.Scan() {
			s.Fatalf("the stream ended: %v", lines.Err())
		}
		line := lines.Text()
		fmt.Fprintln(&body, line)
		if strings.HasPrefix(line, "data:") {
			seen++
			if seen == n-1 && then != nil {
				then()
				then = nil
			}
		}
	}
	s.writeResponse("GET", target, recordedResponse{response.StatusCode, header(response), body.String()})
}

func decode[T any](s *session, body string) (value T) {
	s.Helper()
	if err := json.NewDecoder(bytes.NewBufferString(body)).Decode(&value); err != nil {
		s.Fatalf("%v: %s", err, body)
	}
	return value
}
