package httpapi

import (
	"strings"
	"testing"

	"animalstore/internal/shop"
)

func TestStoreIsWrittenAndRead(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *testShop) {
		partner, admin := bearing(s.key(shop.EventsRead)), bearing(s.key(shop.Admin))
		first := s.do("GET", "/v1/store", "", partner).want(t, 200, `{"kind":"shop","window":{"enabled":false}}`)
		s.do("GET", "/v1/store", "", partner, "If-None-Match: "+first.Header.Get("ETag")).want(t, 304, "")

		const full = `{"name":"Paws & Söhne","phone":"+49 30 1","email":"a@b.example","address":["Road 1","Town"],"website":"https://example.com/","currency":"EUR",` +
			`"timeZone":"Europe/Berlin","kind":"shelter","window":{"enabled":true,"title":"Animals","introduction":"Two\nlines","embedOrigins":["https://a.example:8443"]}`
		sent := strings.Replace(full, `Two\nlines`, `Two\r\nlines`, 1)
		written := s.do("PATCH", "/v1/store", sent+`,"extra":1}`, admin).want(t, 200, full+"}")
		tag := written.Header.Get("ETag")
		if got := s.do("GET", "/v1/store", "", partner).want(t, 200, full+"}").Header.Get("ETag"); got != tag || got == first.Header.Get("ETag") {
			t.Errorf("the tags are %s, %s and %s", first.Header.Get("ETag"), tag, got)
		}

		s.do("PATCH", "/v1/store", `{"name":"x"}`, partner).wantError(t, 403, shop.InsufficientScope)
		s.do("PATCH", "/v1/store", `{"name":"x"}`, admin, "If-Match: "+first.Header.Get("ETag")).wantError(t, 412, shop.PreconditionFailed)
		changed := s.do("PATCH", "/v1/store", `{"phone":null,"address":[],"window":{"title":null,"enabled":false}}`, admin, "If-Match: "+tag).want(t, 200, "")
		if body := string(changed.body); strings.Contains(body, "phone") || strings.Contains(body, "address") ||
			!strings.Contains(body, `"window":{"enabled":false,"introduction":"Two\nlines",`) {
			t.Errorf("the changed store is %s", body)
		}
		s.do("PATCH", "/v1/store", `{"name":"x"}`, admin, "If-Match: "+tag).wantError(t, 412, shop.PreconditionFailed)
		s.do("PATCH", "/v1/store", `{"name":null,"email":null,"website":null,"currency":null,"timeZone":null,"kind":"shop",`+
			`"window":{"introduction":null,"embedOrigins":null}}`, admin).want(t, 200, `{"kind":"shop","window":{"enabled":false}}`)

		// Only a key with the scope admin sees the events, and only if it names their type.
		s.do("GET", "/v1/events?subject=store", "", admin).want(t, 200, "[]")
		s.do("GET", "/v1/events?type=store.updated", "", partner).wantError(t, 403, shop.InsufficientScope)
		if events := string(s.do("GET", "/v1/events?type=store.updated", "", admin).body); strings.Count(events, `"subject":"store"`) != 3 {
			t.Errorf("the events are %s", events)
		}
	})
}

func TestInvalidStoreIsRefused(t *testing.T) {
	s := parallelShop(t)
	for members, bodies := range map[string][]string{
		"name":                {`{"name":""}`, `{"name":7}`, `{"name":" "}`},
		"phone":               {`{"phone":"a\tb"}`},
		"email":               {`{"email":"example.com"}`, `{"email":["a@b"]}`},
		"address":             {`{"address":"Road 1"}`, `{"address":["1","2","3","4","5","6"]}`, `{"address":[" "]}`, `{"address":[null]}`},
		"website":             {`{"website":"http://example.com"}`, `{"website":"mailto:a@b"}`},
		"currency":            {`{"currency":"euro"}`, `{"currency":978}`},
		"timeZone":            {`{"timeZone":"Berlin"}`, `{"timeZone":"Local"}`, `{"timeZone":""}`, `{"timeZone":"/etc/passwd"}`},
		"kind":                {`{"kind":null}`, `{"kind":"zoo"}`, `{"kind":""}`},
		"window":              {`{"window":null}`, `{"window":true}`, `{"window":[]}`},
		"window.enabled":      {`{"window":{"enabled":null}}`, `{"window":{"enabled":"yes"}}`},
		"window.title":        {`{"window":{"title":""}}`, `{"window":{"title":"a\nb"}}`},
		"window.introduction": {`{"window":{"introduction":"a\tb"}}`},
		"window.embedOrigins": {`{"window":{"embedOrigins":["https://a.example/"]}}`, `{"window":{"embedOrigins":"https://a.example"}}`},
		"name currency timeZone kind window.enabled window.title address window.embedOrigins": {
			`{"window":{"enabled":1,"title":2,"embedOrigins":["x"]},"kind":3,"timeZone":4,"name":"","address":[""],"currency":"x"}`,
		},
	} {
		for _, body := range bodies {
			s.wantProblems(t, "PATCH", "/v1/store", body, members)
		}
	}
	s.do("GET", "/v1/store", "").want(t, 200, `{"kind":"shop","window":{"enabled":false}}`)
}
