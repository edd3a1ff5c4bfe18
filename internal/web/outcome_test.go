package web

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"animalstore/internal/shop"
)

func TestEndOfARequest(t *testing.T) {
	t.Parallel()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx     context.Context
		handle  func(w *Recorder) error
		status  int
		aborted bool
		stack   bool
	}{
		"success":            {t.Context(), func(w *Recorder) error { w.Write([]byte("ok")); return nil }, 200, false, false},
		"error":              {t.Context(), func(*Recorder) error { return shop.Errorf(shop.NotFound, "") }, 404, false, false},
		"unknown error":      {t.Context(), func(*Recorder) error { return errors.New("unknown") }, 500, false, false},
		"panic":              {t.Context(), func(*Recorder) error { panic("on purpose") }, 500, false, true},
		"error in the body":  {t.Context(), func(w *Recorder) error { w.Write([]byte("half")); return errors.New("lost") }, 200, true, false},
		"panic in the body":  {t.Context(), func(w *Recorder) error { w.Write([]byte("half")); panic("on purpose") }, 200, true, true},
		"aborted handler":    {t.Context(), func(*Recorder) error { panic(http.ErrAbortHandler) }, 0, true, true},
		"client disconnects": {gone, func(*Recorder) error { return context.Canceled }, StatusClientGone, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(c.ctx, "GET", "/", nil)
			w := NewRecorder(httptest.NewRecorder(), r)
			var err error
			var o Outcome
			func() {
				defer func() { o = EndOf(&w, r, err, recover(), func(e *shop.Error) { w.WriteHeader(Status[e.Code]) }) }()
				err = c.handle(&w)
			}()
			if o.Status != c.status || o.Aborted != c.aborted || (o.Stack != "") != c.stack {
				t.Errorf("got status %d, aborted %v, stack %q", o.Status, o.Aborted, o.Stack)
			}
		})
	}
}
