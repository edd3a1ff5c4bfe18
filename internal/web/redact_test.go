package web

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"animalstore/internal/shop"
)

// A key that a client puts in the wrong place, such as the path, does not end up in the log.
func TestKeysAreNotLogged(t *testing.T) {
	t.Parallel()
	const secret = "ask_live_0123456789ABCDEFGHIJKLMNOPQRST_000000"
	var log bytes.Buffer
	access := &AccessLog{Log: slog.New(slog.NewTextHandler(&log, nil)), Redact: (&shop.Service{}).Redact}
	for name, e := range map[string]Entry{
		"a request":        {Outcome: Outcome{Status: 200}},
		"a failed request": {Outcome: Outcome{Status: 500, Err: errors.New("cannot use " + secret)}},
	} {
		for _, lines := range []*bytes.Buffer{nil, &log} {
			log.Reset()
			if access.Lines = nil; lines != nil {
				access.Lines = lines
			}
			e.Request = httptest.NewRequest("GET", "/v1/pets/"+secret, nil)
			e.Request.Method = secret
			e.Response = &Recorder{}
			access.Write(e)
			if got := log.String(); strings.Contains(got, "ABCDEFGH") || strings.Count(got, "ask_live_REDACTED") < 2 {
				t.Errorf("%s is logged as %s", name, got)
			}
		}
	}
}
