package httpapi

import (
	"strings"
	"testing"
)

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	spanID  = "b7ad6b7169203331"
)

// If a request has a valid Traceparent header, the access log shows its trace id and span id.
func TestAccessLogNamesTheTrace(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	line := func(headers ...string) string {
		t.Helper()
		return s.logLine(t, s.do("GET", "/v1/pets", "", headers...))
	}
	if got := line("Traceparent: 00-" + traceID + "-" + spanID + "-01"); !strings.Contains(got, " trace_id="+traceID+" span_id="+spanID) {
		t.Errorf("the log says %s", got)
	}
	for _, headers := range [][]string{nil, {"Traceparent: 00-" + strings.ToUpper(traceID) + "-" + spanID + "-01"}} {
		if got := line(headers...); strings.Contains(got, "trace_id") || strings.Contains(got, "span_id") {
			t.Errorf("%q: the log says %s", headers, got)
		}
	}
}
