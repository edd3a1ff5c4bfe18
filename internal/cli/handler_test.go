package cli

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"animalstore/internal/httpapi"
	"animalstore/internal/server"
	"animalstore/internal/shoptest"
)

// If too many requests are in progress, an API request is refused with a JSON error, and a request for a staff page is
// refused with an HTML page.
func TestRefusedRequestsGetAnErrorInTheirOwnForm(t *testing.T) {
	t.Parallel()
	log := server.NewBufferedLog(io.Discard)
	defer log.Close()
	handler := shoptest.Must(new(serveCommand).newHandler(shoptest.Open(t, shoptest.Options{}).Service, nil, log, settings{}, nil, nil))(t)
	defer handler.drain()
	for path, want := range map[string][2]string{
		"/v1/pets":    {"application/json", `"code":"unavailable"`},
		"/staff/pets": {"text/html; charset=utf-8", "The pages are busy"},
	} {
		got := httptest.NewRecorder()
		handler.refuse(got, httptest.NewRequest("GET", path, nil))
		if got.Code != 503 || got.Header().Get("Retry-After") == "" || got.Header().Get("Content-Type") != want[0] ||
			!strings.Contains(got.Body.String(), want[1]) {
			t.Errorf("%s: got %d %v %s, want 503 with Retry-After, %v", path, got.Code, got.Header(), got.Body, want)
		}
		if httpapi.IsProbe(httptest.NewRequest("GET", path, nil)) {
			t.Errorf("%s is a probe, want none", path)
		}
	}
	if !httpapi.IsProbe(httptest.NewRequest("GET", "/readyz", nil)) {
		t.Error("/readyz is no probe, so it can be refused")
	}
}
