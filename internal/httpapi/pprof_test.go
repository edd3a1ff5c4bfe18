package httpapi

import "testing"

func TestProfilesAreServed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/goroutine?debug=1", "/debug/pprof/cmdline",
		"/debug/pprof/symbol", "/debug/pprof/profile?seconds=1", "/debug/pprof/trace?seconds=0.01"} {
		if got := s.do("GET", path, ""); got.StatusCode != 200 || len(got.body) == 0 {
			t.Errorf("%s: %d, %d bytes", path, got.StatusCode, len(got.body))
		}
	}
}
