package staff

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// halfSentBody is a form whose rest never arrives. It signals that the service waits for the rest.
type halfSentBody struct {
	waiting chan<- struct{}
	end     <-chan struct{}
}

func (b halfSentBody) Read([]byte) (int, error) {
	b.waiting <- struct{}{}
	<-b.end
	return 0, io.ErrUnexpectedEOF
}

func (halfSentBody) Close() error { return nil }

// Clients that send only half of a form do not keep others from using the pages.
func TestHalfSentFormsDoNotMakeThePagesBusy(t *testing.T) {
	t.Parallel()
	pages := newPages(t)
	waiting, end, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	const clients = maxConcurrentRequests + 10
	for range clients {
		go func() {
			r := httptest.NewRequest("POST", "/staff/sign-in", halfSentBody{waiting, end})
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			pages.ServeHTTP(httptest.NewRecorder(), r)
			done <- struct{}{}
		}()
	}
	for range clients {
		<-waiting
	}
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, httptest.NewRequest("GET", "/staff/sign-in", nil))
	if w.Code != http.StatusOK {
		t.Errorf("beside %d half-sent forms, the sign-in page answers %d, want 200", clients, w.Code)
	}
	close(end)
	for range clients {
		<-done
	}
}

// The body of a form is always read to its end, because net/http would wait for the rest without a deadline.
func TestFormOfAnotherTypeIsReadAndRefused(t *testing.T) {
	t.Parallel()
	pages := newPages(t)
	for _, contentType := range []string{"", "text/plain", "multipart/form-data", "application/json"} {
		body := strings.NewReader("key=secret")
		r := httptest.NewRequest("POST", "/staff/sign-in", body)
		r.Header.Set("Content-Type", contentType)
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, r)
		if w.Code != http.StatusUnprocessableEntity || body.Len() != 0 {
			t.Errorf("type %q: got %d with %d bytes unread, want 422 and none", contentType, w.Code, body.Len())
		}
	}
}

// A user who is not signed in cannot make the service keep a large form.
func TestLargeFormNeedsASession(t *testing.T) {
	t.Parallel()
	pages := newPages(t)
	for path, want := range map[string]int{"/staff/sign-in": http.StatusRequestEntityTooLarge, "/staff/pets": http.StatusSeeOther} {
		body := strings.NewReader(strings.Repeat("x", maxFormBytes))
		r := httptest.NewRequest("POST", path, body)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, r)
		if read := maxFormBytes - body.Len(); w.Code != want || read > 2*maxPublicFormBytes {
			t.Errorf("%s: got %d after %d bytes, want %d after at most %d", path, w.Code, read, want, 2*maxPublicFormBytes)
		}
	}
}

func newPages(t *testing.T) *Pages {
	t.Helper()
	s := newShop(t)
	pages, err := New(Config{Service: s.service, Log: s.log()})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}
