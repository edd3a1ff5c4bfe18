package httpapi

import (
	"strings"
	"testing"
)

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	spanID  = "b7ad6b7169203331"
)

var traces = map[string]bool{ // which headers count
	"00-" + traceID + "-" + spanID + "-01":                        true,
	"00-" + traceID + "-" + spanID + "-00":                        true,
	"cc-" + traceID + "-" + spanID + "-01":                        true,
	"cc-" + traceID + "-" + spanID + "-01-what-the-future-brings": true,
	"cc-" + traceID + "-" + spanID + "-01.what-the-future-brings": false,
	"00-" + traceID + "-" + spanID + "-01-":                       false,
	"00-" + traceID + "-" + spanID + "-01-more":                   false,
	"ff-" + traceID + "-" + spanID + "-01":                        false,
	"00-" + strings.Repeat("0", 32) + "-" + spanID + "-01":        false,
	"00-" + traceID + "-" + strings.Repeat("0", 16) + "-01":       false,
	"00-" + strings.ToUpper(traceID) + "-" + spanID + "-01":       false,
	"00-" + traceID + "-" + strings.ToUpper(spanID) + "-01":       false,
	"0A-" + traceID + "-" + spanID + "-01":                        false,
	"00-" + traceID + "-" + spanID + "-0g":                        false,
	"00-" + traceID + "-" + spanID + "-0":                         false,
	"00-" + traceID[1:] + "-" + spanID + "-01":                    false,
	"00_" + traceID + "-" + spanID + "-01":                        false,
	"00-" + traceID + "_" + spanID + "-01":                        false,
	"00-" + traceID + "-" + spanID + "_01":                        false,
	"00-0af7651916cd43dd8448eb211c8031\n=\"-" + spanID + "-01":    false,
	"":  false,
	"-": false,
}

// It does not run beside others: it counts what is allocated.
func TestTraceOf(t *testing.T) {
	for text, counts := range traces {
		got, ok := traceOf([]string{text})
		if want := (trace{traceID, spanID}); ok != counts || ok && got != want || !ok && got != (trace{}) {
			t.Errorf("%q: %+v %v", text, got, ok)
		}
		if _, ok := traceOf([]string{text, text}); ok {
			t.Errorf("%q counts when it is sent twice", text)
		}
	}
	if allocations := testing.AllocsPerRun(100, func() { traceOf(nil) }); allocations != 0 {
		t.Errorf("to have none costs %v allocations", allocations)
	}
}

// The line of a request names what it was made for, where the client says so.
func TestTraceInTheLog(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	line := func(headers ...string) string {
		t.Helper()
		got := s.ask("GET", "/v1/pets", "", headers...)
		for line := range strings.Lines(s.log.String()) {
			if strings.Contains(line, "id="+got.Header.Get("X-Request-Id")) {
				return line
			}
		}
		t.Fatal("the request is not in the log")
		return ""
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
