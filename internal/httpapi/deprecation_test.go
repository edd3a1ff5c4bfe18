package httpapi

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
)

// day returns a function for Config.Today that always returns the given date.
func day(text string) func() time.Time {
	date, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return func() time.Time { return date }
}

func TestDeprecatedGetPetStillWorks(t *testing.T) {
	s := parallelShop(t)
	s.add(`{"name":"Rex","categoryId":9007199254740993,"status":"pending"}`)
	got := s.do("GET", "/v1/pets/1", "")
	got.want(t, 200, `{"id":1,"name":"Rex","categoryId":9007199254740993,"status":"pending"}`)
	s.do("GET", "/v1/pets/1", "", "If-None-Match: "+got.Header.Get("ETag")).want(t, 304, "")
	s.do("GET", "/v1/pets/%31?x=%zz", "").want(t, 200, "")
	for _, id := range []string{"2", "1e0", "+1", "1%20", "18446744073709551617", "🐈"} {
		s.do("GET", "/v1/pets/"+id, "").wantError(t, 404, shop.NotFound)
	}
}

// Every response from the deprecated operation announces the operation's removal. No other response does.
func TestDeprecatedOperationAnnouncesItsRemoval(t *testing.T) {
	s := parallelShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	tag := s.do("GET", "/v1/pets/1", "").Header.Get("ETag")
	for _, got := range []testResponse{
		s.do("GET", "/v1/pets/1", ""),
		s.do("HEAD", "/v1/pets/1", ""),
		s.do("GET", "/v1/pets/1", "", "If-None-Match: "+tag),
		s.do("GET", "/v1/pets/2", ""),
		s.do("GET", "/v1/pets/1", "", "Authorization: "),
		s.do("GET", "/v1/pets/1", "", bearing(s.key(shop.PetsWrite))),
	} {
		got.wantHeaders(t, "Deprecation: @1794700800", "Sunset: Thu, 05 Dec 2030 00:00:00 GMT")
		if successor := got.link("successor-version"); successor != "/v1/pets" {
			t.Errorf("%d: the successor is %q, want /v1/pets", got.StatusCode, successor)
		}
		for _, relation := range []string{"deprecation", "sunset"} {
			s.do("GET", got.link(relation), "", "Authorization: ").want(t, 200, "")
		}
	}
	for _, method := range []string{"PATCH", "POST", "OPTIONS"} {
		s.do(method, "/v1/pets/1", "{}").wantHeaders(t, "Deprecation: ", "Sunset: ")
	}
}

func TestGetPetIsGoneFromItsRemovalDate(t *testing.T) {
	t.Parallel()
	today := time.Date(2030, 12, 4, 23, 59, 59, 999999999, time.UTC)
	s := newShop(t, func(c *Config) { c.Today = func() time.Time { return today } })
	s.add(`{"name":"Rex","categoryId":1}`)
	s.do("GET", "/v1/pets/1", "").want(t, 200, "")
	today = today.Add(1)
	got := s.do("GET", "/v1/pets/1", "").wantError(t, 410, shop.OperationRemoved)
	if !strings.Contains(got.message(t), "GET /pets?id=") || got.Header.Get("Sunset") == "" ||
		got.link("successor-version") != "/v1/pets" {
		t.Errorf("%s with %v does not name the replacement", got.body, got.Header)
	}
	s.do("HEAD", "/v1/pets/1", "").wantError(t, 410, shop.OperationRemoved)
	s.do("GET", "/v1/pets/1", "", "Authorization: ").wantError(t, 401, shop.MissingAPIKey)
	s.do("GET", "/v1/pets?id=1", "").want(t, 200, `[{"id":1,"name":"Rex","categoryId":1}]`)
}

func TestDeprecatedCallsAreCountedByKey(t *testing.T) {
	s := parallelShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	key := s.key(shop.PetsRead)
	for range 3 {
		s.do("GET", "/v1/pets/1", "", bearing(key))
	}
	s.do("GET", "/v1/pets/2", "")
	s.do("GET", "/v1/pets/1", "", bearing("wrong"))
	metrics := string(s.do("GET", "/metrics", "").body)
	for key, calls := range map[string]int{`key="keys/1",name="Žofie <at the till>"`: 3, `key="configured",name="configured"`: 1} {
		want := fmt.Sprintf(`animalstore_deprecated_calls_total{%s,operation="getPet"} %d`, key, calls)
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("the metrics do not say %s", want)
		}
	}
}
