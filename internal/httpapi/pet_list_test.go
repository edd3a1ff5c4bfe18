package httpapi

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"

	"animalstore/internal/shop"
)

func TestListIsLimitedAndFiltered(t *testing.T) {
	onBothEngines(t, wantParameters)
}

func wantParameters(t *testing.T, s *testShop) {
	for i := range 120 {
		s.AddPet(t, fmt.Sprintf("Pet %d", i+1), int64(i%3), "")
	}
	s.AddPet(t, "ŽOFKA 100%", math.MinInt64, shop.Available)
	s.AddPet(t, "Rex", math.MaxInt64, shop.Sold)
	ids := func(n int) string { return strings.Repeat("id=1&", n) }
	for _, c := range []struct {
		query string
		count int // the number of animals; 0 if an error is expected
		code  shop.Code
	}{
		{"", 20, ""},
		{"limit=1", 1, ""},
		{"limit=100", 100, ""},
		{"limit=007", 7, ""},
		{"limit=0", 0, shop.InvalidParameter},
		{"limit=-1", 0, shop.InvalidParameter},
		{"limit=101", 0, shop.InvalidParameter},
		{"limit=abc", 0, shop.InvalidParameter},
		{"limit=%2B5", 0, shop.InvalidParameter},
		{"limit=", 0, shop.InvalidParameter},
		{"limit", 0, shop.InvalidParameter},
		{"limit=5&limit=5", 0, shop.InvalidParameter},
		{"limit=%zz", 0, shop.InvalidParameter},
		{"limit=5;status=sold", 0, shop.InvalidParameter},
		{"other=%zz", 0, shop.InvalidParameter},
		{"status=available", 1, ""},
		{"status=sold", 1, ""},
		{"status=pending", 0, ""},
		{"status=", 0, shop.InvalidParameter},
		{"status=lost", 0, shop.InvalidParameter},
		{"status=sold&status=sold", 0, shop.InvalidParameter},
		{"categoryId=0&limit=100", 40, ""},
		{"categoryId=9223372036854775807", 1, ""},
		{"categoryId=-9223372036854775808", 1, ""},
		{"categoryId=9223372036854775808", 0, shop.InvalidParameter},
		{"categoryId=", 0, shop.InvalidParameter},
		{"categoryId=1&categoryId=2", 0, shop.InvalidParameter},
		{"q=rex", 1, ""},
		{"q=%C5%BEof", 1, ""},
		{"q=%25", 1, ""},
		{"q=_ex", 0, ""},
		{"q=pet+12", 2, ""},
		{"q=", 0, shop.InvalidParameter},
		{"q=%00", 0, shop.InvalidParameter},
		{"q=%ff", 0, shop.InvalidParameter},
		{"q=" + strings.Repeat("a", 200), 0, ""},
		{"q=" + strings.Repeat("a", 201), 0, shop.InvalidParameter},
		{"q=a&q=b", 0, shop.InvalidParameter},
		{"id=5", 1, ""},
		{"id=5&id=6&id=5", 2, ""},
		{"id=0&id=-1&id=9223372036854775807", 0, ""},
		{"id=abc", 0, shop.InvalidParameter},
		{"id=", 0, shop.InvalidParameter},
		{"id=5&id=x", 0, shop.InvalidParameter},
		{ids(100), 1, ""},
		{ids(101), 0, shop.InvalidParameter},
		{"id=121&status=available&categoryId=-9223372036854775808&q=OFK", 1, ""},
		{"id=121&status=sold", 0, ""},
		{"cursor=8000000000000", 0, ""},
		{"cursor=fzzzzzzzzzzzz&limit=100", 100, ""},
		{"cursor=8000000000003", 2, ""},
		{"cursor=", 0, shop.InvalidCursor},
		{"cursor=abc", 0, shop.InvalidCursor},
		{"cursor=800000000000i", 0, shop.InvalidCursor},
		{"cursor=8000000000003&cursor=8000000000003", 0, shop.InvalidParameter},
		{"unknown=1&unknown=2&Limit=0", 20, ""},
	} {
		t.Run(c.query, func(t *testing.T) {
			got := s.do("GET", "/v1/pets?"+c.query, "")
			if c.code != "" {
				got.wantError(t, 400, c.code)
				return
			}
			got.want(t, 200, "")
			if n := len(got.pets(t)); n != c.count {
				t.Errorf("got %d animals, want %d", n, c.count)
			}
		})
	}
}

func TestListIsABareArrayNewestFirst(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.do("GET", "/v1/pets", "").want(t, 200, "[]")
	s.add(`{"name":"Rex","categoryId":1}`)
	s.add(`{"name":"Bella","categoryId":2,"status":"sold"}`)
	s.do("GET", "/v1/pets", "").want(t, 200, `[{"id":2,"name":"Bella","categoryId":2,"status":"sold"},{"id":1,"name":"Rex","categoryId":1}]`)
}

func TestPetsArePaginated(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for i := range 7 {
		s.add(fmt.Sprintf(`{"name":"Ná & <%d>","categoryId":-5,"status":"sold"}`, i+1))
	}
	query := "status=sold&categoryId=-5&q=%C3%81+%26+%3C&id=1&id=2&id=3&id=5&id=7&limit=2&unknown=x"
	first := s.do("GET", "/v1/pets?"+query, "")
	var seen []int64
	page := first
	for {
		for _, pet := range page.pets(t) {
			seen = append(seen, pet.ID)
		}
		if page.link("first") != first.link("first") {
			t.Errorf("rel=first changed to %s", page.link("first"))
		}
		next := page.link("next")
		if next == "" {
			break
		}
		u, err := url.Parse(next)
		if err != nil || u.Scheme+"://"+u.Host+u.Path != s.url+"/v1/pets" {
			t.Fatalf("rel=next is %q (%v)", next, err)
		}
		q := u.Query()
		if q.Get("limit") != "2" || q.Get("status") != "sold" || q.Get("categoryId") != "-5" || q.Get("q") != "Á & <" || len(q["id"]) != 5 {
			t.Errorf("rel=next lost a filter: %s", next)
		}
		page = s.do("GET", next, "")
	}
	if !slices.Equal(seen, []int64{7, 5, 3, 2, 1}) {
		t.Errorf("saw %v", seen)
	}
	if n := len(s.do("GET", first.link("first"), "").pets(t)); n != 2 {
		t.Errorf("rel=first has %d animals", n)
	}
	// Even a full page can be the last page.
	if next := s.do("GET", "/v1/pets?limit=7", "").link("next"); next != "" {
		t.Errorf("the last page has a next one: %s", next)
	}
}

func TestListTagChangesWithTheList(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	empty := s.do("GET", "/v1/pets", "").Header.Get("ETag")
	pet := s.do("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`)
	list := s.do("GET", "/v1/pets", "")
	tag := list.Header.Get("ETag")
	if tag == empty {
		t.Error("the ETag did not change when an animal was added")
	}
	if cache := list.Header.Get("Cache-Control"); cache != "private, no-cache" {
		t.Errorf("Cache-Control is %q", cache)
	}
	for _, c := range []struct {
		match string
		same  bool
	}{
		{tag, true}, {"W/" + tag, true}, {`"x", ` + tag, true}, {`"x",W/` + tag + `, "y"`, true}, {"*", true},
		{empty, false}, {`"x"`, false}, {strings.Trim(tag, `"`), false},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			got := s.do(method, "/v1/pets", "", "If-None-Match: "+c.match)
			if c.same {
				got.want(t, 304, "")
			} else {
				got.want(t, 200, "")
			}
			if got.Header.Get("ETag") != tag || got.Header.Get("Link") != list.Header.Get("Link") {
				t.Errorf("%s with %s: the headers are not those of the list", method, c.match)
			}
		}
	}
	own := pet.Header.Get("ETag")
	for query, same := range map[string]bool{"id=1": true, "id=1&limit=20": false, "id=1&id=1": false, "id=1&x=y": false, "limit=1": false} {
		if got := s.do("GET", "/v1/pets?"+query, "").Header.Get("ETag"); (got == own) != same {
			t.Errorf("%s: the ETag is the animal's own: %v, want %v", query, got == own, same)
		}
	}
	if got := s.do("GET", "/v1/pets?id=2", "").Header.Get("ETag"); got != empty {
		t.Errorf("an empty list has the ETag %s, but %s for an unknown id", empty, got)
	}
	// Two different cursors lead to the same last page, which must have the same ETag.
	before := s.do("GET", "/v1/pets?limit=1&cursor=fzzzzzzzzzzzz", "").Header.Get("ETag")
	s.add(`{"name":"Bella","categoryId":1}`)
	after := s.do("GET", "/v1/pets?limit=1&cursor="+formatCursor(2), "")
	after.want(t, 200, `[{"id":1,"name":"Rex","categoryId":1}]`)
	if after.Header.Get("ETag") != before {
		t.Error("the same last page has another ETag")
	}
}

func TestHeadMatchesGet(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	for _, path := range []string{"/v1/pets", "/v1/pets?limit=0", "/v1/pets/1", "/v1/pets/2", "/v1/openapi.json", "/v1/nothing", "/livez"} {
		get, head := s.do("GET", path, ""), s.do("HEAD", path, "")
		if len(head.body) != 0 {
			t.Errorf("HEAD %s has a body: %s", path, head.body)
		}
		for _, h := range []testResponse{get, head} {
			h.Header.Del("Date")
			h.Header.Del("X-Request-Id")
		}
		if get.StatusCode != head.StatusCode || fmt.Sprint(get.Header) != fmt.Sprint(head.Header) {
			t.Errorf("%s: GET returned %d %v, HEAD %d %v", path, get.StatusCode, get.Header, head.StatusCode, head.Header)
		}
	}
}

func TestCursorsEncodeEveryPosition(t *testing.T) {
	t.Parallel()
	for position, want := range map[int64]string{
		math.MinInt64: "0000000000000", -1: "7zzzzzzzzzzzz", 0: "8000000000000", 1: "8000000000001", math.MaxInt64: "fzzzzzzzzzzzz",
	} {
		if got := formatCursor(position); got != want {
			t.Errorf("the cursor of %d is %s, want %s", position, got, want)
		}
		if got, err := parseCursor(want); err != nil || got != position {
			t.Errorf("the position of %s is %d (%v), want %d", want, got, err, position)
		}
	}
}
