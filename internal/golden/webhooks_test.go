package golden

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"

	"animalstore/internal/programtest"
)

// receiver is a webhook endpoint. It responds with status 410 if the path starts with /gone and with status
// 200 otherwise.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	messages []message
}

type message struct {
	request *http.Request
	body    string
}

func newReceiver(s *session) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(r)
	s.Cleanup(r.Close)
	s.setPlaceholder(r.URL, "http://{receiver}")
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	r.mu.Lock()
	r.messages = append(r.messages, message{request, string(body)})
	r.mu.Unlock()
	if strings.HasPrefix(request.URL.Path, "/gone") {
		w.WriteHeader(http.StatusGone)
	}
	io.WriteString(w, "Thank you.")
}

var signature = regexp.MustCompile(`v1,[A-Za-z0-9+/]{43}=`)

// writeMessages waits for n messages and records them in an order that does not depend on when they arrived.
func (r *receiver) writeMessages(s *session, n int) {
	s.Helper()
	programtest.Await(s.T, fmt.Sprintf("%d messages", n), func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.messages) >= n
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	var texts []string
	for _, m := range r.messages {
		s.addPlaceholders(m.body)
		header := m.request.Header.Clone()
		header.Set("Webhook-Timestamp", "{seconds}")
		header.Set("Webhook-Signature", signature.ReplaceAllString(header.Get("Webhook-Signature"), "{signature}"))
		header.Set("Content-Length", "{length}")
		before := s.transcript.String()
		s.transcript.Reset()
		fmt.Fprintf(&s.transcript, "!!! %s %s\n", m.request.Method, m.request.URL)
		s.writeHeader(header)
		s.writeBody(s.normalize(m.body))
		texts = append(texts, s.transcript.String())
		s.transcript.Reset()
		s.transcript.WriteString(before)
	}
	slices.Sort(texts)
	for _, text := range texts {
		fmt.Fprintf(&s.transcript, "%s\n", text)
	}
	r.messages = nil
}

// waitForDeliveries waits until a webhook has n deliveries and none of them is pending.
func waitForDeliveries(s *session, path string, n int) {
	s.Helper()
	programtest.Await(s.T, "the deliveries", func() bool {
		body := s.do("GET", path+"/deliveries", "", false).body
		return len(decode[[]any](s, body)) == n && !strings.Contains(body, `"status":"pending"`)
	})
}

func webhooks(s *session) {
	r := newReceiver(s)
	s.title("Add webhooks")
	s.send("POST", "/v1/webhooks", fmt.Sprintf(`{"url":"%s/hook","types":["pet.updated","pet.created"]}`, r.URL))
	s.send("POST", "/v1/webhooks", fmt.Sprintf(`{"url":"%s/gone","types":["pet.deleted"]}`, r.URL), `Idempotency-Key: "one"`)
	s.send("POST", "/v1/webhooks", fmt.Sprintf(`{"url":"%s/gone","types":["pet.deleted"]}`, r.URL), `Idempotency-Key: "one"`)
	s.send("POST", "/v1/webhooks", fmt.Sprintf(`{"url":"%s/none","types":["order.expired"]}`, r.URL))
	s.send("POST", "/v1/webhooks", `{}`)
	s.send("POST", "/v1/webhooks", `{"url":"ftp://example.com/"}`)
	s.send("POST", "/v1/webhooks", `{"url":"https://name:password@example.com/"}`)
	s.send("POST", "/v1/webhooks", `{"url":"https://example.com/","types":["pet.eaten"]}`)
	s.title("Messages")
	s.send("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`)
	waitForDeliveries(s, "/v1/webhooks/1", 1)
	s.send("PATCH", "/v1/pets/1", `{"name":"Rexina"}`, mergePatch)
	waitForDeliveries(s, "/v1/webhooks/1", 2)
	r.writeMessages(s, 2)
	s.pages("/v1/webhooks/1/deliveries?limit=1")
	s.getAndRevalidate("/v1/webhooks/1/deliveries")
	s.send("GET", "/v1/webhooks/1/deliveries?status=succeeded&limit=1", "")
	s.send("GET", "/v1/webhooks/1/deliveries?status=failed", "")
	s.send("GET", "/v1/webhooks/1/deliveries?status=lost", "")
	s.send("GET", "/v1/webhooks/77/deliveries", "")
	s.title("Again")
	s.send("POST", "/v1/webhooks/1/deliveries/1/redeliver", "")
	waitForDeliveries(s, "/v1/webhooks/1", 3)
	r.writeMessages(s, 1)
	s.send("GET", "/v1/webhooks/1/deliveries?limit=1", "")
	s.send("POST", "/v1/webhooks/1/deliveries/77/redeliver", "")
	s.send("POST", "/v1/webhooks/77/deliveries/1/redeliver", "")
	s.title("An address that is gone")
	s.send("DELETE", "/v1/pets/1", "")
	programtest.Await(s.T, "the webhook to be disabled", func() bool {
		return strings.Contains(s.do("GET", "/v1/webhooks/2", "", false).body, `"enabled":false`)
	})
	r.writeMessages(s, 1)
	s.send("GET", "/v1/webhooks/2", "")
	s.send("GET", "/v1/webhooks/2/deliveries", "")
	s.title("A test")
	s.send("POST", "/v1/webhooks/3/test", "", `Idempotency-Key: "two"`)
	waitForDeliveries(s, "/v1/webhooks/3", 1)
	s.send("POST", "/v1/webhooks/3/test", "", `Idempotency-Key: "two"`)
	r.writeMessages(s, 1)
	s.send("GET", "/v1/webhooks/3/deliveries", "")
	s.send("POST", "/v1/webhooks/77/test", "")
	s.title("Change the secret")
	s.send("POST", "/v1/webhooks/3/rotate", `{"overlapSeconds":3600}`)
	s.send("POST", "/v1/webhooks/3/test", "")
	waitForDeliveries(s, "/v1/webhooks/3", 2)
	r.writeMessages(s, 1)
	s.send("POST", "/v1/webhooks/3/rotate", "", `Idempotency-Key: "three"`)
	s.send("POST", "/v1/webhooks/3/rotate", "", `Idempotency-Key: "three"`)
	s.send("POST", "/v1/webhooks/3/rotate", `{"overlapSeconds":2592001}`)
	s.send("POST", "/v1/webhooks/77/rotate", "")
	s.title("Show them")
	s.pages("/v1/webhooks?limit=2")
	s.getAndRevalidate("/v1/webhooks")
	s.getAndRevalidate("/v1/webhooks/3")
	s.send("GET", "/v1/webhooks/77", "")
	s.title("Change them")
	tag := s.send("GET", "/v1/webhooks/3", "").header.Get("ETag")
	s.send("PATCH", "/v1/webhooks/3", `{"url":"https://example.com/hook","types":null}`, mergePatch, "If-Match: "+tag)
	s.send("PATCH", "/v1/webhooks/3", `{"types":["key.created"]}`, mergePatch, "If-Match: "+tag)
	s.send("PATCH", "/v1/webhooks/3", `{"enabled":false,"types":["key.created"]}`)
	s.send("PATCH", "/v1/webhooks/3", `{"enabled":"no"}`, mergePatch)
	s.send("PATCH", "/v1/webhooks/77", `{}`, mergePatch)
	s.title("Remove them")
	s.send("DELETE", "/v1/webhooks/3", "", "If-Match: "+tag)
	s.send("DELETE", "/v1/webhooks/3", "")
	s.send("DELETE", "/v1/webhooks/3", "")
	s.send("GET", "/v1/events?type=webhook.created&type=webhook.updated&type=webhook.deleted", "")
	s.title("Methods")
	for _, path := range []string{"/webhooks", "/webhooks/1", "/webhooks/1/rotate", "/webhooks/1/test", "/webhooks/1/deliveries", "/webhooks/1/deliveries/1/redeliver"} {
		s.send("OPTIONS", "/v1"+path, "")
	}
}
