package web

import (
	"strings"
	"testing"
)

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	spanID  = "b7ad6b7169203331"
)

// traceparents maps each Traceparent header to whether it is valid.
var traceparents = map[string]bool{
	"00-" + traceID + "-" + spanID + "-01":                      true,
	"cc-" + traceID + "-" + spanID + "-01":                      true,
	"cc-" + traceID + "-" + spanID + "-01-from-a-later-version": true,
	"cc-" + traceID + "-" + spanID + "-01.from-a-later-version": false,
	"00-" + traceID + "-" + spanID + "-01-more":                 false,
	"ff-" + traceID + "-" + spanID + "-01":                      false,
	"00-" + strings.Repeat("0", 32) + "-" + spanID + "-01":      false,
	"00-" + traceID + "-" + strings.Repeat("0", 16) + "-01":     false,
	"00-" + strings.ToUpper(traceID) + "-" + spanID + "-01":     false,
	"00-" + traceID + "-" + strings.ToUpper(spanID) + "-01":     false,
	"0A-" + traceID + "-" + spanID + "-01":                      false,
	"00-" + traceID + "-" + spanID + "-0g":                      false,
	"00-" + traceID + "-" + spanID + "-0":                       false,
	"00_" + traceID + "-" + spanID + "-01":                      false,
	"00-" + traceID + "_" + spanID + "-01":                      false,
	"00-" + traceID + "-" + spanID + "_01":                      false,
	"00-0af7651916cd43dd8448eb211c8031\n=\"-" + spanID + "-01":  false,
	"-": false,
}

func TestParseTraceparent(t *testing.T) {
	t.Parallel()
	for text, counts := range traceparents {
		got, ok := parseTraceparent([]string{text})
		if want := (traceIDs{traceID, spanID}); ok != counts || ok && got != want || !ok && got != (traceIDs{}) {
			t.Errorf("%q: %+v %v", text, got, ok)
		}
		if _, ok := parseTraceparent([]string{text, text}); ok {
			t.Errorf("%q is accepted when it is sent twice", text)
		}
	}
}

// FuzzTraceparent checks that the parsed ids are hexadecimal, have the right length, and come from the
// header.
func FuzzTraceparent(f *testing.F) {
	for text := range traceparents {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := parseTraceparent([]string{text})
		if !ok {
			if got != (traceIDs{}) {
				t.Fatalf("%q is invalid, but gave %+v", text, got)
			}
			return
		}
		if len(got.id) != 32 || len(got.span) != 16 || strings.Trim(got.id+got.span, "0123456789abcdef") != "" || !strings.HasPrefix(text[2:], "-"+got.id+"-"+got.span+"-") {
			t.Fatalf("%q gave %+v", text, got)
		}
	})
}
