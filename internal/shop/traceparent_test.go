package shop

import (
	"bytes"
	"testing"
)

func TestTraceparentIsRemovedWhenReadAndNothingElseIs(t *testing.T) {
	const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, text := range []string{
		`{"current":null,"previous":{"id":1}}`,
		`{"current":{"name":"a long name that makes the data longer than a traceparent"},"previous":null}`,
		`{"previous":{"name":",\"traceparent\":\"` + traceparent + `"}}`,
		`{"previous":{"name":"x","traceparent":"` + traceparent + `"}}`,
		`{"a":1}`, `{}`, `7`, ``,
	} {
		if rest, got := cutTraceparent([]byte(text)); string(rest) != text || got != "" {
			t.Errorf("%s: got %s and %q without a traceparent, want no change", text, rest, got)
		}
		if got := addTraceparent([]byte(text), ""); string(got) != text {
			t.Errorf("%s: got %s, want no change", text, got)
		}
		if len(text) < len(`{"a":1}`) {
			continue
		}
		stored := addTraceparent([]byte(text), traceparent)
		before := bytes.Clone(stored)
		rest, got := cutTraceparent(stored)
		if string(rest) != text || got != traceparent || !bytes.Equal(stored, before) {
			t.Errorf("%s: got %s and %q from %s, want what was stored", text, rest, got, before)
		}
	}
	object := []byte(`{"current":{"name":"a long name that makes the data longer than a traceparent"},"previous":null}`)
	if n := testing.AllocsPerRun(100, func() { cutTraceparent(addTraceparent(object, "")) }); n != 0 {
		t.Errorf("got %v allocations without a traceparent, want none", n)
	}
}
