package golden

import (
	"bufio"
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
	"animalstore/internal/shoptest"
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
	key      string // the key that is sent with every request, or "" if no key is sent

	transcript   strings.Builder
	placeholders []placeholder   // the placeholders in the order in which they were added
	counts       map[string]int  // the number of placeholders of each kind
	varying      map[string]bool // the request targets whose responses vary in length
}

type placeholder struct{ raw, text string }

// recordedResponse is the response to a request before any placeholders are inserted.
type recordedResponse struct {
	request *http.Request
	status  int
	header  http.Header
	body    string
}

// newSession starts a new service with a new database and returns a session that uses it.
func newSession(t *testing.T, engine engine, a area) *session {
	t.Helper()
	s := &session{T: t, database: engine.open(t), key: programtest.AdminKey, counts: map[string]int{}, varying: map[string]bool{},
		client: &http.Client{Timeout: programtest.WaitTimeout, Transport: &http.Transport{DisableCompression: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	t.Cleanup(s.client.CloseIdleConnections)
	s.setPlaceholder(programtest.AdminKey, "{configured key}")
	folder := programtest.NewFolderWithKey(t)
	if a.unconfigured {
		folder = programtest.NewFolder(t)
	}
	if a.prepare != nil {
		a.prepare(t, s.database)
	}
	s.program = folder.Serve(append([]string{"--database", s.database}, a.flags...)...)
	return s
}

// setPlaceholder replaces all occurrences of raw in the rest of the transcript with a placeholder.
func (s *session) setPlaceholder(raw, text string) {
	s.placeholders = append(s.placeholders, placeholder{raw, text})
}

// numberPlaceholder replaces all occurrences of raw with a numbered placeholder unless raw already has a
// placeholder.
func (s *session) numberPlaceholder(raw, kind string) {
	if s.normalize(raw) == raw {
		s.counts[kind]++
		s.setPlaceholder(raw, fmt.Sprintf("{%s %d}", kind, s.counts[kind]))
	}
}

// play starts a new section in the transcript and then calls send with the requests.
func (s *session) play(title string, requests ...string) recordedResponse {
	s.Helper()
	fmt.Fprintf(&s.transcript, "### %s\n\n", title)
	return s.send(requests...)
}

// send sends and records requests and returns the last response. The method PAGES stands for GET requests for
// a page of a list and all following pages. The method REVALIDATE stands for a GET request, a conditional GET
// request with the ETag from the first response, and a HEAD request.
func (s *session) send(requests ...string) (last recordedResponse) {
	s.Helper()
	for _, text := range requests {
		method, target, _ := strings.Cut(text, " ")
		switch method {
		case "PAGES":
			for next := []string{"", target}; next != nil; next = nextLink.FindStringSubmatch(last.header.Get("Link")) {
				last = s.send("GET " + next[1])
			}
		case "REVALIDATE":
			tag := s.send("GET " + target).header.Get("ETag")
			last = s.send("GET "+target+" -H If-None-Match: "+tag, "HEAD "+target)
		default:
			r, body := s.request(text)
			s.writeRequest(r, body)
			last = s.roundTrip(r, io.ReadAll)
			s.writeResponse(last)
		}
	}
	return last
}

// do sends requests without recording them and returns the last response.
func (s *session) do(requests ...string) (last recordedResponse) {
	s.Helper()
	for _, text := range requests {
		r, _ := s.request(text)
		last = s.roundTrip(r, io.ReadAll)
	}
	return last
}

// request parses a request of the form "METHOD target body -H Name: value". The body and the headers are
// optional. A target that does not start with a slash is a path below /v1/. A header without a value removes
// the default header with this name.
func (s *session) request(text string) (r *http.Request, body string) {
	s.Helper()
	fields := strings.Split(text, " -H ")
	method, target, _ := strings.Cut(fields[0], " ")
	target, body, _ = strings.Cut(target, " ")
	if !strings.HasPrefix(target, "/") {
		target = "/v1/" + target
	}
	r = shoptest.Must(http.NewRequestWithContext(s.Context(), method, s.program.URL+target, strings.NewReader(body)))(s.T)
	r.Host = host
	if s.key != "" {
		r.Header.Set("Authorization", "Bearer "+s.key)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
		if method == http.MethodPatch {
			r.Header.Set("Content-Type", "application/merge-patch+json")
		}
	}
	for _, field := range fields[1:] {
		name, value, _ := strings.Cut(field, ":")
		if value = strings.TrimSpace(value); value == "" {
			r.Header.Del(name)
		} else {
			r.Header.Set(name, value)
		}
	}
	return r, body
}

// roundTrip sends a request and reads the response with the given function. The header of the result includes
// the fields that net/http stores elsewhere in the response.
func (s *session) roundTrip(r *http.Request, read func(io.Reader) ([]byte, error)) recordedResponse {
	s.Helper()
	response, err := s.client.Do(r)
	if err != nil {
		s.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	defer response.Body.Close()
	body, err := read(response.Body)
	if err != nil {
		s.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	if response.Close {
		response.Header.Set("Connection", "close")
	}
	if len(response.TransferEncoding) > 0 {
		response.Header["Transfer-Encoding"] = response.TransferEncoding
	}
	return recordedResponse{r, response.StatusCode, response.Header, string(body)}
}

func (s *session) writeRequest(r *http.Request, body string) {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "image/") {
		body = "{an image}\n"
	} else if len(body) > 2000 {
		body = fmt.Sprintf("{%d bytes}", len(body))
	}
	fmt.Fprintf(&s.transcript, ">>> %s %s\n%s", r.Method, s.normalize(r.URL.RequestURI()), s.format(r.Header, s.normalize(body)))
}

func (s *session) writeResponse(a recordedResponse) {
	s.addPlaceholders(a.body)
	body, header, target := s.normalize(a.body), a.header.Clone(), a.request.URL.RequestURI()
	// The transcript omits the text of documents. TestOpenAPI checks the OpenAPI document, and the other documents are
	// prose.
	if a.request.Method == http.MethodGet && a.status == http.StatusOK &&
		(strings.HasPrefix(target, "/v1/openapi.") || strings.HasPrefix(target, "/docs")) {
		body = "{a document}\n"
	}
	if a.status == http.StatusOK && a.header.Get("Content-Type") == "image/jpeg" && body != "" {
		body = "{a photo}\n"
	}
	if body != a.body { // the body varies between runs, so its length and its ETag vary, too
		if header.Get("Content-Length") == strconv.Itoa(len(a.body)) {
			header.Set("Content-Length", "{length}")
			s.varying[target] = true
		}
		if tag := header.Get("ETag"); tag != "" {
			s.numberPlaceholder(tag, "etag")
		}
	}
	if a.request.Method == http.MethodHead && s.varying[target] {
		header.Set("Content-Length", "{length}")
	}
	fmt.Fprintf(&s.transcript, "<<< %d %s\n%s\n", a.status, http.StatusText(a.status), s.format(header, body))
}

// format formats a header and a body as lines. It replaces everything in the header that varies between runs. The
// body must already be normalized.
func (s *session) format(header http.Header, body string) string {
	var text strings.Builder
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
			fmt.Fprintf(&text, "%s: %s\n", name, s.normalize(value))
		}
	}
	if body != "" {
		fmt.Fprintf(&text, "\n%s", strings.ReplaceAll(body, "\r\n", "{CR}\n"))
		if !strings.HasSuffix(body, "\n") {
			text.WriteString("{no newline}\n")
		}
	}
	return text.String()
}

var (
	keyPattern    = regexp.MustCompile(`ask_(?:live|test)_[0-9A-Za-z]{30}_[0-9A-Za-z]{6}`)
	secretPattern = regexp.MustCompile(`whsec_[A-Za-z0-9+/]{43}=`)
	testPattern   = regexp.MustCompile(`test_[0-9]+`)
	timePattern   = regexp.MustCompile(`"20[2-8][0-9]-[0-9]{2}-[0-9]{2}T[0-9:.]+Z"`)
	photoFile     = regexp.MustCompile(`/photos/[0-9a-f]{32}-small\.jpg`)
	requestID     = regexp.MustCompile(`^[a-z2-7]{26}$`)
	userAgent     = regexp.MustCompile(`^animalstore/\S+`)
	msPattern     = regexp.MustCompile(`"durationMs":[0-9]+`)
)

// addPlaceholders adds a placeholder for every key, secret and test message ID in a body.
func (s *session) addPlaceholders(body string) {
	for _, key := range keyPattern.FindAllString(body, -1) {
		s.numberPlaceholder(key, "key")
		s.setPlaceholder(`"hint":"`+key[len(key)-4:]+`"`, `"hint":"{the end of `+strings.Trim(s.normalize(key), "{}")+`}"`)
	}
	for _, file := range photoFile.FindAllString(body, -1) {
		s.numberPlaceholder(strings.TrimSuffix(strings.TrimPrefix(file, "/photos/"), "-small.jpg"), "photo")
	}
	for kind, pattern := range map[string]*regexp.Regexp{"secret": secretPattern, "test": testPattern} {
		for _, raw := range pattern.FindAllString(body, -1) {
			s.numberPlaceholder(raw, kind)
		}
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

// stream opens an event stream and records it until n events have arrived. If causeLast is not
// nil, stream calls it after n-1 events, to cause the last one.
func (s *session) stream(target string, n int, causeLast func()) {
	s.Helper()
	r, _ := s.request("GET " + target + " -H Accept: text/event-stream")
	s.writeRequest(r, "")
	s.writeResponse(s.roundTrip(r, func(stream io.Reader) (body []byte, err error) {
		lines := bufio.NewReader(stream)
		for seen := 0; seen < n && err == nil; {
			var line []byte
			line, err = lines.ReadBytes('\n')
			body = append(body, line...)
			if strings.HasPrefix(string(line), "data:") {
				if seen++; seen == n-1 && causeLast != nil {
					causeLast()
				}
			}
		}
		return body, err
	}))
}
