package staff

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// Over TLS, another subdomain cannot plant a session cookie, and browsers never use plain HTTP again.
func TestSessionCookieIsBoundToTheHostOverTLS(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tls                      bool
		public                   string
		name, path, strictlyOnly string
	}{
		{false, "", "animalstore_production", "/", ""},
		{true, "", "__Host-animalstore_production", "/", ""},
		{false, "https://pets.example.com/v1", "__Host-animalstore_production", "/", ""},
		{true, "https://pets.example.com/v1", "__Host-animalstore_production", "/", "max-age=31536000"},
		{true, "https://pets.example.com/shop/v1", "__Secure-animalstore_production", "/shop/", "max-age=31536000"},
	} {
		s := newShop(t)
		pages, err := New(Config{Service: s.service, Log: s.log(), TLS: c.tls, PublicURL: c.public})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("POST", "/staff/sign-in", strings.NewReader(url.Values{"key": {configuredKey}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, r)
		cookies := w.Result().Cookies()
		if len(cookies) != 1 {
			t.Fatalf("%+v: got %d with the cookies %v, want one", c, w.Code, cookies)
		}
		got := cookies[0]
		if got.Name != c.name || got.Path != c.path || got.Secure != strings.HasPrefix(c.name, "__") || got.Domain != "" {
			t.Errorf("%+v: got the cookie %v", c, got)
		}
		if strictly := w.Header().Get("Strict-Transport-Security"); strictly != c.strictlyOnly {
			t.Errorf("%+v: got Strict-Transport-Security %q", c, strictly)
		}
		page := httptest.NewRequest("GET", "/staff/pets", nil)
		page.AddCookie(got)
		w = httptest.NewRecorder()
		if pages.ServeHTTP(w, page); w.Code != http.StatusOK {
			t.Errorf("%+v: the session gets %d, want 200", c, w.Code)
		}
	}
}

// Signing in never leads to another site, and never puts a control character into a header.
func TestSignInLeadsOnlyToStaffPages(t *testing.T) {
	t.Parallel()
	pages := newPages(t)
	for next, want := range map[string]string{
		"/staff/pets?status=sold": "/staff/pets?status=sold",
		"/staff/a\x00b":           "/", "/staff/pets?q=\x00": "/", "/staff/pets?q=a\r\nSet-Cookie:x": "/", "/staff/\x7f": "/",
		"//evil.example": "/", "https://evil.example": "/", "/staff//evil.example": "/", `/staff/\evil`: "/", "": "/",
	} {
		form := url.Values{"key": {configuredKey}, "next": {next}}
		r := httptest.NewRequest("POST", "/staff/sign-in", strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		if pages.ServeHTTP(w, r); w.Code != http.StatusSeeOther || w.Header().Get("Location") != want {
			t.Errorf("next=%q: got %d to %q, want 303 to %q", next, w.Code, w.Header().Get("Location"), want)
		}
	}
}
