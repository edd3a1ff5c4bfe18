// Package otlptest provides a collector of OpenTelemetry traces for tests.
package otlptest

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a span that a Collector has received. Its ids are hexadecimal.
type Span struct {
	Name, TraceID, ID, ParentID string
	Links                       []string // the ids of linked spans
	Attributes, Resource        map[string]string
	Failed                      bool
}

// Collector receives spans in OTLP over HTTP at the path /v1/traces of its URL.
type Collector struct {
	URL   string
	t     *testing.T
	mu    sync.Mutex
	spans []Span
}

// NewCollector starts a collector that runs until the test ends.
func NewCollector(t *testing.T) *Collector {
	t.Helper()
	c := &Collector{t: t}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", c.receive)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

func (c *Collector) receive(w http.ResponseWriter, r *http.Request) {
	var export collectorpb.ExportTraceServiceRequest
	body, err := readBody(r)
	if err == nil {
		err = proto.Unmarshal(body, &export)
	}
	if err != nil {
		c.t.Errorf("the collector cannot read an export: %v", err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range export.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				span := Span{
					Name: s.GetName(), TraceID: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()),
					ParentID: hex.EncodeToString(s.GetParentSpanId()), Attributes: texts(s.GetAttributes()),
					Resource: texts(resource.GetResource().GetAttributes()), Failed: s.GetStatus().GetCode() == 2,
				}
				for _, link := range s.GetLinks() {
					span.Links = append(span.Links, hex.EncodeToString(link.GetSpanId()))
				}
				c.spans = append(c.spans, span)
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func readBody(r *http.Request) ([]byte, error) {
	if r.Header.Get("Content-Encoding") != "gzip" {
		return io.ReadAll(r.Body)
	}
	plain, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(plain)
}

func texts(attributes []*commonpb.KeyValue) map[string]string {
	result := map[string]string{}
	for _, a := range attributes {
		switch v := a.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			result[a.GetKey()] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			result[a.GetKey()] = strconv.FormatInt(v.IntValue, 10)
		default:
			result[a.GetKey()] = a.GetValue().String()
		}
	}
	return result
}

// Spans returns the spans that were received so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Await waits for a span for which matches returns true, and returns the span. It fails the test after a minute.
func (c *Collector) Await(what string, matches func(Span) bool) Span {
	c.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if spans := c.Spans(); slices.ContainsFunc(spans, matches) {
			return spans[slices.IndexFunc(spans, matches)]
		}
	}
	c.t.Fatalf("no span for %s arrived; got %+v", what, c.Spans())
	return Span{}
}
