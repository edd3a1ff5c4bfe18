package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"animalstore/internal/otlptest"
	"animalstore/internal/programtest"
)

// A client's request to one of two nodes and the webhook message that either node then sends belong to the same
// trace.
func TestTraceOfRequestReachesWebhook(t *testing.T) {
	t.Parallel()
	const traceID, clientSpan = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	collector := otlptest.NewCollector(t)
	type message struct{ traceparent, body string }
	messages := make(chan message, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		messages <- message{r.Header.Get("Traceparent"), string(body)}
	}))
	t.Cleanup(receiver.Close)
	f := newSharedFolder(t)
	f.Variables = append(f.Variables, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "OTEL_BSP_SCHEDULE_DELAY=50")
	nodes := f.ServeNodes(2, "--webhook-allow-private")
	hook := nodes[1].Send("POST", "/v1/webhooks", programtest.AdminKey, `{"url":"`+receiver.URL+`","types":["pet.created"]}`)
	programtest.ExpectStatus(t, hook, 201)
	created := nodes[0].Send("POST", "/v1/pets", programtest.AdminKey, `{"name":"Secret Rex","categoryId":1}`,
		"Traceparent: 00-"+traceID+"-"+clientSpan+"-01")
	programtest.ExpectStatus(t, created, 201)

	got := <-messages
	parts := strings.Split(got.traceparent, "-")
	if len(parts) != 4 || parts[1] != traceID || parts[3] != "01" || strings.Contains(got.body, traceID) {
		t.Fatalf("got the traceparent %q and the message %s, want the trace in the header only", got.traceparent, got.body)
	}
	named := func(name string) otlptest.Span {
		t.Helper()
		return collector.Await(name, func(s otlptest.Span) bool { return s.TraceID == traceID && s.Name == name })
	}
	request, write, group, delivery := named("POST /v1/pets"), named("store.write"), named("store.group"), named("webhook.deliver")
	if request.ParentID != clientSpan || write.ParentID != request.ID || group.ParentID != write.ID || delivery.ParentID != request.ID {
		t.Errorf("got the parents %s, %s, %s and %s of %+v, %+v, %+v and %+v",
			request.ParentID, write.ParentID, group.ParentID, delivery.ParentID, request, write, group, delivery)
	}
	if delivery.ID != parts[2] || delivery.Attributes["http.response.status_code"] != "200" || delivery.Failed {
		t.Errorf("got the delivery %+v, want %s with the status 200", delivery, parts[2])
	}
	requestID := created.Header.Get("X-Request-Id")
	if request.Attributes["animalstore.request_id"] != requestID || group.Attributes["animalstore.group.size"] != "1" ||
		group.Attributes["db.system.name"] != "postgresql" {
		t.Errorf("got the attributes %v and %v", request.Attributes, group.Attributes)
	}
	nodes[0].AwaitOutput("the line of the request", func(output string) bool {
		_, line, _ := strings.Cut(output, " id="+requestID+" ")
		line, _, whole := strings.Cut(line, "\n")
		return whole && strings.Contains(line, " trace_id="+traceID+" span_id="+request.ID)
	})
	if feed := nodes[1].Send("GET", "/v1/events", programtest.AdminKey, ""); strings.Contains(feed.Body, traceID) {
		t.Errorf("the feed shows the trace: %s", feed.Body)
	}
	for _, span := range collector.Spans() {
		for name, value := range span.Attributes {
			if strings.Contains(value, "Secret") || strings.Contains(value, receiver.URL) || strings.Contains(value, programtest.AdminKey) {
				t.Errorf("%s: the attribute %s is %q", span.Name, name, value)
			}
		}
	}
	if instances := map[string]bool{request.Resource["service.instance.id"]: true, delivery.Resource["service.instance.id"]: true}; instances[""] {
		t.Errorf("got the resources %v and %v, want the nodes", request.Resource, delivery.Resource)
	}
}

// If the trace collector refuses connections, the service logs a warning and otherwise works as usual.
func TestServiceRunsWithoutItsCollector(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_BSP_SCHEDULE_DELAY=1",
		"OTEL_BSP_EXPORT_TIMEOUT=100", "OTEL_TRACES_SAMPLER=sometimes")
	node := f.Serve()
	node.AwaitOutput("the warning about the variable", func(output string) bool {
		return strings.Contains(output, "level=WARN") && strings.Contains(output, "variable=OTEL_TRACES_SAMPLER")
	})
	node.Create(programtest.Pet{Name: "Rex", CategoryID: 1})
	node.AwaitOutput("the warning about the collector", func(output string) bool {
		return strings.Contains(output, `msg="cannot export traces"`)
	})
	node.Create(programtest.Pet{Name: "Bello", CategoryID: 1})
	node.Stop()
	_, warning, _ := strings.Cut(node.Output.String(), `msg="cannot export traces"`)
	if line, _, _ := strings.Cut(warning, "\n"); !strings.Contains(line, "127.0.0.1:1") {
		t.Errorf("got the warning %s, want one that names the collector", line)
	}
}
