package httpapi

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
)

// day is a date for Config.Today.
func day(text string) func() time.Time {
	date, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return func() time.Time { return date }
}

func TestGet(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.add(`{"name":"Rex","categoryId":9007199254740993,"status":"pending"}`)
	got := s.ask("GET", "/v1/pets/1", "")
	got.want(t, 200, `{"id":1,"name":"Rex","categoryId":9007199254740993,"status":"pending"}`)
	s.ask("GET", "/v1/pets/1", "", "If-None-Match: "+got.Header.Get("ETag")).want(t, 304, "")
	s.ask("GET", "/v1/pets/%31", "").want(t, 200, "")
	s.ask("GET", "/v1/pets/1?x=%zz", "").want(t, 200, "")
	for _, id := range []string{"2", "99", "0", "-1", "abc", "1.0", "1e0", "+1", "%2B1", "1%20", "9223372036854775807",
		"-9223372036854775808", "9223372036854775808", "18446744073709551616", "18446744073709551617", "%00", "🐈", "null", "1%2F"} {
		t.Run(id, func(t *testing.T) {
			s.ask("GET", "/v1/pets/"+id, "").wantError(t, 404, shop.NotFound)
		})
	}
}

// Every answer of the operation announces its removal; no other answer does.
func TestDeprecation(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	tag := s.ask("GET", "/v1/pets/1", "").Header.Get("ETag")
	for _, got := range []answer{
		s.ask("GET", "/v1/pets/1", ""),
		s.ask("HEAD", "/v1/pets/1", ""),
		s.ask("GET", "/v1/pets/1", "", "If-None-Match: "+tag),
		s.ask("GET", "/v1/pets/2", ""),
		s.ask("GET", "/v1/pets/abc", ""),
		s.ask("GET", "/v1/pets/1", "", "Authorization: "),
		s.ask("GET", "/v1/pets/1", "", "Authorization: Bearer wrong"),
		s.ask("GET", "/v1/pets/1", "", "Authorization: Bearer "+s.key(shop.PetsWrite)),
	} {
		if d := got.Header.Get("Deprecation"); d != "@1794700800" {
			t.Errorf("%d: Deprecation is %q", got.StatusCode, d)
		}
		if d := got.Header.Get("Sunset"); d != "Thu, 05 Dec 2030 00:00:00 GMT" {
			t.Errorf("%d: Sunset is %q", got.StatusCode, d)
		}
		if l := got.link("successor-version"); l != "/v1/pets" {
			t.Errorf("%d: the successor is %q", got.StatusCode, l)
		}
		for _, relation := range []string{"deprecation", "sunset"} {
			s.ask("GET", got.link(relation), "", "Authorization: ").want(t, 200, "")
		}
	}
	for _, got := range []answer{s.ask("GET", "/v1/pets", ""), s.ask("POST", "/v1/pets/1", "{}"), s.ask("OPTIONS", "/v1/pets/1", "")} {
		if got.Header.Get("Deprecation") != "" || got.Header.Get("Sunset") != "" {
			t.Errorf("%s %s announces a removal", got.Request.Method, got.Request.URL.Path)
		}
	}
}

func TestRemoval(t *testing.T) {
	t.Parallel()
	today := time.Date(2030, 12, 4, 23, 59, 59, 999999999, time.UTC)
	s := newShop(t, func(c *Config) { c.Today = func() time.Time { return today } })
	s.add(`{"name":"Rex","categoryId":1}`)
	s.ask("GET", "/v1/pets/1", "").want(t, 200, "")

	today = today.Add(1)
	got := s.ask("GET", "/v1/pets/1", "")
	got.wantError(t, 410, shop.OperationRemoved)
	if !strings.Contains(got.message(t), "GET /pets?id=") {
		t.Errorf("the message %q does not name the replacement", got.message(t))
	}
	if got.Header.Get("Sunset") == "" || got.link("successor-version") != "/v1/pets" {
		t.Error("the answer after the removal no longer says what replaces it")
	}
	s.ask("GET", "/v1/pets/abc", "").wantError(t, 410, shop.OperationRemoved)
	s.ask("HEAD", "/v1/pets/1", "").wantError(t, 410, shop.OperationRemoved)
	s.ask("GET", "/v1/pets/1", "", "Authorization: ").wantError(t, 401, shop.MissingAPIKey)
	s.ask("GET", "/v1/pets?id=1", "").want(t, 200, `[{"id":1,"name":"Rex","categoryId":1}]`)
}

func TestDeprecatedCallsAreCountedByKey(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	key := s.key(shop.PetsRead)
	for range 3 {
		s.ask("GET", "/v1/pets/1", "", "Authorization: Bearer "+key)
	}
	s.ask("GET", "/v1/pets/2", "")
	s.ask("GET", "/v1/pets/1", "", "Authorization: Bearer wrong")
	metrics := string(s.ask("GET", "/metrics", "").body)
	for _, want := range []string{
		`animalstore_deprecated_calls_total{key="keys/1",name="partner",operation="getPet"} 3`,
		`animalstore_deprecated_calls_total{key="configured",name="configured",operation="getPet"} 1`,
	} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("the metrics do not say %s", want)
		}
	}
}

// Whoever wraps the interface may look at an answer's headers after it is done, also when others are being answered.
func TestHeadersOutliveTheAnswer(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	s.add(`{"name":"Luna","categoryId":1}`)
	var answers []*httptest.ResponseRecorder
	for _, path := range []string{"/v1/pets/1", "/v1/pets/2", "/v1/pets/1"} {
		request := httptest.NewRequest("GET", path, nil)
		request.Header.Set("Authorization", "Bearer "+adminKey)
		answers = append(answers, httptest.NewRecorder())
		s.api.ServeHTTP(answers[len(answers)-1], request)
	}
	first, second, third := answers[0].Header(), answers[1].Header(), answers[2].Header()
	if first.Get("ETag") == "" || first.Get("ETag") != third.Get("ETag") || first.Get("ETag") == second.Get("ETag") {
		t.Errorf("the tags are %q, %q and %q", first.Get("ETag"), second.Get("ETag"), third.Get("ETag"))
	}
	if first.Get("X-Request-Id") == "" || first.Get("X-Request-Id") == third.Get("X-Request-Id") {
		t.Errorf("the ids are %q and %q", first.Get("X-Request-Id"), third.Get("X-Request-Id"))
	}
}
