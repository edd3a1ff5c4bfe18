package httpapi

import (
	"encoding/json"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// FuzzNewPet checks that every body either contains a valid animal or is refused with invalid_json or
// validation_failed. The standard library must decode the same animal. The hand-written encoding must be
// identical to the output of json.Marshal.
func FuzzNewPet(f *testing.F) {
	fuzzBody(f, func(t *testing.T, body []byte) {
		pet, problems, err := decodeNewPet(body)
		if err == nil {
			err = problems.Err()
		}
		if !accepted(t, body, err) {
			return
		}
		if problems := pet.Problems().Err(); problems != nil {
			t.Fatalf("%q was accepted: %v", body, problems)
		}
		members := members(t, body)
		var name string
		if json.Unmarshal(members["name"], &name) != nil || name != pet.Name {
			t.Fatalf("%q gave the name %q, the standard library reads %q", body, pet.Name, name)
		}
		exact, ok := new(big.Rat).SetString(string(members["categoryId"]))
		if ok && exact.Cmp(new(big.Rat).SetInt64(pet.CategoryID)) != 0 {
			t.Fatalf("%q gave the category %d", body, pet.CategoryID)
		}
		for _, value := range []any{pet.WithID(1), []shop.Pet{pet.WithID(2), pet.WithID(3)}, []shop.Pet{}} {
			want, err := jsonv2.Marshal(value)
			if got := encode(value); err != nil || string(got) != string(want) {
				t.Fatalf("%q is encoded as %s, want %s (%v)", body, got, want, err)
			}
		}
		again, wrong, err := decodeNewPet(encode(pet.WithID(1)))
		if err != nil || len(wrong) > 0 || again != pet {
			t.Fatalf("%q: the encoded animal does not decode: %+v %v", body, again, err)
		}
	}, `{"name":"Rex","categoryId":7.0,"status":"sold"}`, `{"name":"\ud800","categoryId":1}`,
		`{"name":"\ud83d\udc08","categoryId":-9223372036854775808}`, `{"name":"a","name":"b","categoryId":1}`,
		"{\"name\":\"\xff\",\"categoryId\":1}", `{"name":"x","categoryId":1e400}`, `{"name":"x","categoryId":10e-1}`,
		"{\"name\":\"\u2028\u0085<&>\\\"\\\\/😀\",\"categoryId\":-1}", `{"name":"x","categoryId":1,"status":null}`,
		`{"name":"x","categoryId":1}{}`, `{"x":[[[[[]]]]]}`)
}

// FuzzList checks that every query is either within the limits of a list or refused with invalid_parameter or
// invalid_cursor. The query in the links of a list of animals or events must select the same list, and formatting the
// position of a valid cursor must result in the same cursor.
func FuzzList(f *testing.F) {
	fuzzText(f, func(t *testing.T, query string) {
		valid := func(limit int, err error) bool {
			ok := accepted(t, query, err, shop.InvalidParameter, shop.InvalidCursor)
			if ok && (limit < 1 || limit > maxLimit) {
				t.Fatalf("%q has the limit %d", query, limit)
			}
			return ok
		}
		orders, err := parseOrderList(query)
		valid(orders.Limit, err)
		deliveries, err := parseDeliveryList(query)
		valid(deliveries.Limit, err)
		filter, request, err := parseEventList(query)
		if accepted(t, query, err, shop.InvalidParameter) && (request.Limit < 1 || request.Limit > maxLimit ||
			request.After != nil && *request.After < 0 || len(filter.Types) > len(shop.EventTypes()) ||
			len(filter.Subjects) > 1 || len(filter.Subjects) == 1 && shop.TextProblem(filter.Subjects[0]) != "") {
			t.Fatalf("%q was accepted as %+v %+v", query, filter, request)
		}
		if linked, _, again := parseEventList(eventQuery(filter).Encode()); err == nil && (again != nil || string(encode(linked)) != string(encode(filter))) {
			t.Fatalf("%q: the link has %+v, want %+v (%v)", query, linked, filter, again)
		}
		position, err := web.ParseCursor(query)
		if again := web.FormatCursor(position); accepted(t, query, err, shop.InvalidCursor) && again != query {
			t.Fatalf("%q is the position %d, which is %q", query, position, again)
		}
		list, _, err := parsePetList(query)
		if !valid(list.Limit, err) {
			return
		}
		if len(list.IDs) > maxIDs || list.Query != "" && shop.TextProblem(list.Query) != "" {
			t.Fatalf("%q was accepted as %+v", query, list)
		}
		linked := petFilterQuery(list.PetFilter)
		linked.Set("limit", strconv.Itoa(list.Limit))
		again, _, err := parsePetList(linked.Encode())
		again.After = list.After
		if want, got := encode(list), encode(again); err != nil || string(want) != string(got) {
			t.Fatalf("%q: the link has %s, want %s (%v)", query, got, want, err)
		}
	}, "", "limit=5&status=sold", "limit=%zz", "limit=0", "q=%C5%BE&categoryId=-1", "id=1&id=2&cursor=8000000000001",
		"limit=1&limit=1", "a;b", "q=%ff", "q=+", "cursor=x", "=&=&&", "limit=\x00",
		"limit=5&status=placed", "petId=x", "cursor=8000000000001", "status=failed&limit=100", "limit=101",
		"after=1&limit=5", "after=000000000000000001", "after=1234567890123456789", "after=-1", "after=1&after=1",
		"type=pet.created&type=pet.updated", "type=pet.created&type=pet.created", "type=x", "subject=pets/1", "subject=+",
		"subject=%ff", "actor=keys/7&since=2030-01-02T03:04:05.5Z&until=2031-01-02t03:04:05%2B02:00", "since=0000-01-01T00:00:00%2B23:59",
		"until=9999-12-31T23:59:59-23:59", "8000000000001", "fzzzzzzzzzzzz", "gzzzzzzzzzzzz", "0000000000000", "800000000000i", "FZZZZZZZZZZZZ")
}

// FuzzWebhook checks that every body either contains a webhook with a usable URL or is refused with
// invalid_json or validation_failed. A change follows the same rules.
func FuzzWebhook(f *testing.F) {
	fuzzBody(f, func(t *testing.T, body []byte) {
		n, err := decodeNewWebhook(body)
		if !accepted(t, body, err) {
			return
		}
		change, err := decodeWebhookChange(body)
		if err == nil && (*change.URL != n.URL || change.Types != nil && !slices.Equal(*change.Types, n.Types)) {
			t.Fatalf("%q is %+v, and as a change %+v", body, n, change)
		}
		request, err := http.NewRequest("POST", n.URL, nil)
		if err != nil || request.URL.Hostname() == "" || request.URL.User != nil || request.URL.String() != n.URL {
			t.Fatalf("%q: nothing can be sent to %q: %v", body, n.URL, err)
		}
		if target := request.URL.RequestURI(); strings.ContainsFunc(target, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			t.Fatalf("%q would request %q", body, target)
		}
	}, `{"url":"http://[::1]:80/?a=b","types":["pet.created","pet.created"]}`, `{"url":"https://me:x@example.com"}`,
		`{"url":"https://example.com/#"}`, `{"url":"https://b\u00fccher.example"}`, `{"url":"https://x/?a b"}`,
		`{"url":"https://x/%zz","types":null}`, `{"url":"https://x:y","types":["*"]}`, `{"url":null,"types":[null]}`)
}
