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
		texts = append(texts, fmt.Sprintf("!!! %s %s\n%s\n", m.request.Method, m.request.URL, s.format(header, s.normalize(m.body))))
	}
	slices.Sort(texts)
	s.transcript.WriteString(strings.Join(texts, ""))
	r.messages = nil
}

// waitForDeliveries waits until a webhook has n deliveries and none of them is pending.
func waitForDeliveries(s *session, path string, n int) {
	s.Helper()
	programtest.Await(s.T, "the deliveries", func() bool {
		body := s.do("GET " + path + "/deliveries").body
		return len(programtest.Decode[[]any](s.T, body)) == n && !strings.Contains(body, `"status":"pending"`)
	})
}

func webhooks(s *session) {
	r := newReceiver(s)
	hook := `POST webhooks {"url":"` + r.URL
	s.play("Add webhooks", hook+`/hook","types":["pet.updated","pet.created"]}`, hook+`/gone","types":["pet.deleted"]}`+once,
		hook+`/gone","types":["pet.deleted"]}`+once, hook+`/none","types":["order.expired"]}`, "POST webhooks {}",
		`POST webhooks {"url":"ftp://example.com/"}`, `POST webhooks {"url":"https://name:password@example.com/"}`,
		`POST webhooks {"url":"https://example.com/","types":["pet.eaten"]}`)
	s.play("Messages", "POST pets "+rex)
	waitForDeliveries(s, "webhooks/1", 1)
	s.send(`PATCH pets/1 {"name":"Rexina"}`)
	waitForDeliveries(s, "webhooks/1", 2)
	r.writeMessages(s, 2)
	s.send("PAGES webhooks/1/deliveries?limit=1", "REVALIDATE webhooks/1/deliveries",
		"GET webhooks/1/deliveries?status=succeeded&limit=1", "GET webhooks/1/deliveries?status=failed",
		"GET webhooks/1/deliveries?status=lost", "GET webhooks/77/deliveries")
	s.play("Again", "POST webhooks/1/deliveries/1/redeliver")
	waitForDeliveries(s, "webhooks/1", 3)
	r.writeMessages(s, 1)
	s.send("GET webhooks/1/deliveries?limit=1", "POST webhooks/1/deliveries/77/redeliver",
		"POST webhooks/77/deliveries/1/redeliver")
	s.play("An address that is gone", "DELETE pets/1")
	programtest.Await(s.T, "the webhook to be disabled", func() bool {
		return strings.Contains(s.do("GET webhooks/2").body, `"enabled":false`)
	})
	r.writeMessages(s, 1)
	s.send("GET webhooks/2", "GET webhooks/2/deliveries")
	s.play("A test", "POST webhooks/3/test"+twice)
	waitForDeliveries(s, "webhooks/3", 1)
	s.send("POST webhooks/3/test" + twice)
	r.writeMessages(s, 1)
	s.send("GET webhooks/3/deliveries", "POST webhooks/77/test")
	s.play("Change the secret", `POST webhooks/3/rotate {"overlapSeconds":3600}`, "POST webhooks/3/test")
	waitForDeliveries(s, "webhooks/3", 2)
	r.writeMessages(s, 1)
	s.send(`POST webhooks/3/rotate -H Idempotency-Key: "three"`, `POST webhooks/3/rotate -H Idempotency-Key: "three"`,
		`POST webhooks/3/rotate {"overlapSeconds":2592001}`, "POST webhooks/77/rotate")
	s.play("Show them", "PAGES webhooks?limit=2", "REVALIDATE webhooks", "REVALIDATE webhooks/3", "GET webhooks/77")
	match := " -H If-Match: " + s.play("Change them", "GET webhooks/3").header.Get("ETag")
	s.send(`PATCH webhooks/3 {"url":"https://example.com/hook","types":null}`+match,
		`PATCH webhooks/3 {"types":["key.created"]}`+match,
		`PATCH webhooks/3 {"enabled":false,"types":["key.created"]} -H Content-Type: application/json`,
		`PATCH webhooks/3 {"enabled":"no"}`, "PATCH webhooks/77 {}")
	s.play("Remove them", "DELETE webhooks/3"+match, "DELETE webhooks/3", "DELETE webhooks/3",
		"GET events?type=webhook.created&type=webhook.updated&type=webhook.deleted")
	s.play("Methods", "OPTIONS webhooks", "OPTIONS webhooks/1", "OPTIONS webhooks/1/rotate", "OPTIONS webhooks/1/test",
		"OPTIONS webhooks/1/deliveries", "OPTIONS webhooks/1/deliveries/1/redeliver")
}
