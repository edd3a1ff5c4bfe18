package plans

import (
	"crypto/md5"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// request is a request that is sent to the service. Its path and body may contain %d, which stands for the id of
// an animal that no other request uses. The body of an upload is the name of an example image.
type request struct {
	method, path, body string
	// counts is the reason why the request may examine many rows. It is empty if the request must examine only a few.
	counts string
}

func (r request) name() string {
	if r.body != "" && strings.HasPrefix(r.path, "/v1") {
		return r.method + " " + r.path + " " + r.body[:min(len(r.body), 40)]
	}
	return r.method + " " + r.path
}

// requests returns requests for every route that reads or writes the store. n is the number of animals. The order
// matters: a request for a webhook or a key refers to one that an earlier request has created.
func requests(n int) []request {
	half, order := n/2, n/8
	shown := half - half%10 // an animal with a profile and a photo
	list := []request{
		{"GET", "/v1/pets", "", ""},
		{"GET", fmt.Sprintf("/v1/pets?cursor=%s", cursor(int64(half))), "", ""},
		{"GET", fmt.Sprintf("/v1/pets?status=sold&limit=100&cursor=%s", cursor(int64(half))), "", ""},
		{"GET", "/v1/pets?status=sold", "", ""},
		{"GET", "/v1/pets?status=pending&categoryId=7", "", ""},
		{"GET", "/v1/pets?categoryId=7", "", ""},
		{"GET", "/v1/pets?id=1&id=2&id=3", "", ""},
		{"GET", fmt.Sprintf("/v1/pets?q=%d", half+7), "", ""},
		{"GET", "/v1/pets?q=hazel+tortoise", "", ""},
		{"GET", "/v1/pets?q=hazel&status=pending&categoryId=7", "", ""},
		{"GET", "/v1/pets?q=zz", "", ""},
		{"GET", "/v1/pets?q=nowhere", "", ""},
		{"GET", "/v1/pets/%d", "", ""},
		{"POST", "/v1/pets", `{"name":"Rex","categoryId":7,"status":"available"}`, ""},
		{"POST", "/v1/pets", `{"name":"Rex","categoryId":-7}`, ""},
		{"PATCH", "/v1/pets/%d", `{"name":"Rex II","categoryId":8}`, ""},
		{"DELETE", "/v1/pets/%d", "", ""},
		{"POST", fmt.Sprintf("/v1/pets/%d/restore", n), "", ""},
		{"GET", fmt.Sprintf("/v1/pets/%d/profile", shown), "", ""},
		{"PATCH", fmt.Sprintf("/v1/pets/%d/profile", shown), `{"published":true,"breeds":["Boxer"],"tags":["loud","calm"]}`, ""},
		{"PATCH", "/v1/pets/%d/profile", `{"sex":"male","tags":["new"]}`, ""},
		{"GET", "/v1/profiles", "", ""},
		{"GET", "/v1/profiles?cursor=" + cursor(int64(half)), "", ""},
		{"GET", "/v1/profiles?status=sold&cursor=" + cursor(int64(half)), "", ""},
		{"GET", "/v1/profiles?categoryId=7", "", ""},
		{"GET", "/v1/profiles?id=1&id=2&id=3", "", ""},
		{"GET", "/v1/profiles?published=true", "", ""},
		{"GET", "/v1/profiles?published=false&limit=100&cursor=" + cursor(int64(half)), "", ""},
		{"GET", "/v1/profiles?sex=female&limit=100&cursor=" + cursor(int64(half)), "", ""},
		{"GET", "/v1/profiles?size=extra-large&limit=100&cursor=" + cursor(int64(half)), "", ""},
		{"GET", "/v1/profiles?tag=calm&limit=100&cursor=" + cursor(int64(half)), "", ""},
		{"GET", "/v1/profiles?tag=tag+8", "", ""},
		{"GET", "/v1/profiles?tag=nobody", "", ""},
		{"GET", "/v1/profiles?tag=calm&tag=tag+8&sex=female", "", ""},
		{"GET", "/v1/profiles?published=true&status=available&categoryId=7", "", ""},
		{"GET", "/v1/profiles?published=true&size=small&sex=male", "", ""},
		{"GET", "/v1/profiles?q=beagle", "", ""},
		{"GET", "/v1/profiles?q=beagle+room+brown+hazel", "", ""},
		{"GET", "/v1/profiles?q=beagle&published=true&sex=female", "", ""},
		{"GET", "/v1/profiles?q=nowhere", "", ""},
		{"GET", fmt.Sprintf("/v1/pets/%d/photos", shown), "", ""},
		{"GET", fmt.Sprintf("/v1/pets/%d/photos/%d", shown, shown), "", ""},
		{"GET", fmt.Sprintf("/photos/%x-small.jpg", md5.Sum([]byte(strconv.Itoa(shown)))), "", ""},
		{"POST", "/v1/pets/%d/photos", "rex.jpg", ""},
		{"POST", fmt.Sprintf("/v1/pets/%d/photos", shown), "rex.jpg", ""},
		{"PATCH", fmt.Sprintf("/v1/pets/%d/photos/%d", shown, shown), `{"position":2}`, ""},
		{"DELETE", fmt.Sprintf("/v1/pets/%d/photos/%d", shown, shown), "", ""},
		{"DELETE", fmt.Sprintf("/v1/pets/%d", shown+10), "", ""},
		{"POST", fmt.Sprintf("/v1/pets/%d/restore", shown+10), "", ""},
		{"DELETE", fmt.Sprintf("/v1/pets/%d", shown+10), "", ""},
		{"GET", "/v1/categories", "", ""},
		{"POST", "/v1/categories", `{"name":"Birds"}`, ""},
		{"GET", "/v1/categories/7", "", ""},
		{"PUT", "/v1/categories/7", `{"name":"Fish"}`, ""},
		{"PUT", "/v1/categories/900000001", `{"name":"none"}`, ""},
		{"DELETE", "/v1/categories/900000001", "", ""},
		{"GET", "/v1/store/orders", "", ""},
		{"GET", fmt.Sprintf("/v1/store/orders?status=expired&cursor=%s", cursor(int64(order))), "", ""},
		{"GET", "/v1/store/orders?petId=100", "", ""},
		{"GET", "/v1/store/orders?petId=100&status=placed", "", ""},
		{"GET", "/v1/store/orders?pickupDate=2026-11-17", "", ""},
		{"GET", "/v1/store/orders?pickupDate=2026-11-17&status=delivered", "", ""},
		{"GET", "/v1/store/orders?pickupDate=2026-11-17&petId=100", "", ""},
		{"GET", fmt.Sprintf("/v1/store/orders?q=customer+%d", half), "", ""},
		{"POST", "/v1/store/orders", `{"petId":%d,"reference":"customer","pickupDate":"2026-11-17","customer":{"name":"Ann"}}`, ""},
		{"GET", fmt.Sprintf("/v1/store/orders/%d", order), "", ""},
		{"PATCH", "/v1/store/orders/25", `{"status":"approved"}`, ""},
		{"POST", "/v1/store/orders/25/undo", "", ""},
		{"PATCH", "/v1/store/orders/25", `{"customer":{"name":"Ann"}}`, ""},
		{"DELETE", "/v1/store/orders/25/customer", "", ""},
		{"GET", "/v1/store/inventory", "", ""},
		{"GET", "/v1/store", "", ""},
		{"PATCH", "/v1/store", `{"name":"Paws"}`, ""},
		{"GET", "/v1/events", "", ""},
		{"GET", fmt.Sprintf("/v1/events?after=%d&limit=100", half), "", ""},
		{"GET", "/v1/events?type=order.placed&type=pet.deleted", "", ""},
		{"GET", fmt.Sprintf("/v1/events?subject=pets/%d", half), "", ""},
		{"GET", "/v1/events?actor=keys/99", "", "there is one summary for 1,024 events, and a step reads at most 32,768 of them"},
		{"GET", "/v1/events?since=2999-01-01T00:00:00Z", "", "as above"},
		{"POST", "/v1/imports?dryRun=true", "name,categoryId\nRex,7\nMia,8\n", ""},
		{"POST", "/v1/imports", "name,categoryId\nRex,7\nMia,8\n", ""},
		{"GET", "/v1/exports/pets.csv", "", "an export reads all animals, page by page"},
		{"GET", "/v1/exports/pets.ndjson", "", "an export reads all animals, page by page"},
		{"GET", "/v1/keys", "", ""},
		{"POST", "/v1/keys", `{"name":"one","scopes":["admin"]}`, ""},
		{"POST", "/v1/keys", `{"name":"two","scopes":["admin"]}`, ""},
		{"GET", "/v1/keys/current", "", ""},
		{"POST", "/v1/keys/1/rotate", `{}`, ""},
		{"DELETE", "/v1/keys/1", "", ""},
		{"GET", "/v1/webhooks", "", ""},
		{"POST", "/v1/webhooks", `{"url":"https://example.com/1"}`, ""},
		{"POST", "/v1/webhooks", `{"url":"https://example.com/2"}`, ""},
		{"GET", "/v1/webhooks/1", "", ""},
		{"PATCH", "/v1/webhooks/1", `{"types":["pet.created"]}`, ""},
		{"POST", "/v1/webhooks/1/rotate", `{}`, ""},
		{"POST", "/v1/webhooks/1/test", "", ""},
		{"GET", "/v1/webhooks/1/deliveries", "", ""},
		{"GET", "/v1/webhooks/1/deliveries?status=failed", "", ""},
		{"POST", "/v1/webhooks/1/deliveries/1/redeliver", "", ""},
		{"DELETE", "/v1/webhooks/1", "", ""},
		{"GET", "/readyz", "", ""},

		{"GET", "/", "", ""},
		{"GET", "/staff/pets", "", ""},
		{"GET", "/staff/pets?name=hazel", "", ""},
		{"GET", "/staff/pets?status=sold", "", ""},
		{"GET", fmt.Sprintf("/staff/pets/fresh?after=%d", n), "", ""},
		{"GET", "/staff/pets/%d", "", ""},
		{"GET", "/staff/pets/%d/row", "", ""},
		{"GET", "/staff/pets/%d/edit", "", ""},
		{"GET", fmt.Sprintf("/staff/pets/%d/print", shown), "", ""},
		{"GET", "/staff/pets?status=none", "", ""},
		{"GET", "/staff/pets?sort=oldest&category=7", "", ""},
		{"GET", "/staff/pets?sort=name", "", ""},
		{"GET", fmt.Sprintf("/staff/pets?sort=name&at=HAZEL&from=%d", half), "", ""},
		{"GET", "/staff/pets?sort=name&status=pending&sex=male", "", "it compares 2,000 animals, and PostgreSQL reads all profiles of a small store for them"},
		{"GET", fmt.Sprintf("/staff/pets?sort=price&at=EUR000000100.0000&from=%d", half), "", ""},
		{"GET", "/staff/pets?sort=price-high&name=beagle", "", ""},
		{"GET", fmt.Sprintf("/staff/pets?sort=price&from=%d", half), "", ""},
		{"GET", "/staff/pets?sort=age&category=7", "", ""},
		{"GET", fmt.Sprintf("/staff/pets?sort=age-high&at=2020-06-01&from=%d&photo=none", half), "", ""},
		{"GET", "/staff/pets?photo=none&published=no&tag=calm", "", ""},
		{"GET", "/staff/pets/counts?name=beagle", "", ""},
		{"GET", "/staff/pets/counts", "", ""},
		{"GET", "/staff/pets/removed", "", ""},
		{"GET", "/staff/pets/print?status=available", "", ""},
		{"GET", "/staff/search?q=hazel+tortoise", "", ""},
		{"GET", "/staff/search?q=zz", "", "it compares 2,000 animals, and PostgreSQL reads all profiles of a small store for them"},
		{"GET", fmt.Sprintf("/staff/search?q=%d", half), "", ""},
		{"GET", fmt.Sprintf("/staff/search?q=customer+%d", half), "", ""},
		{"GET", "/staff/orders", "", ""},
		{"GET", fmt.Sprintf("/staff/orders?q=customer+%d", half), "", ""},
		{"GET", "/staff/orders/print?status=placed", "", ""},
		{"GET", "/staff/orders?pickup=2026-11-17", "", ""},
		{"GET", "/staff/orders/hand-overs?day=2026-11-17", "", ""},
		{"GET", fmt.Sprintf("/staff/orders/%d", order), "", ""},
		{"GET", fmt.Sprintf("/staff/orders/%d/print", order), "", ""},
		{"GET", fmt.Sprintf("/staff/orders/%d/row", order), "", ""},
		{"GET", "/staff/activity", "", ""},
		{"GET", fmt.Sprintf("/staff/activity?animal=%d", half), "", ""},
		{"GET", fmt.Sprintf("/staff/activity?order=%d", order), "", ""},
		{"GET", "/staff/activity?kind=orders", "", ""},
		{"GET", "/staff/activity?person=keys/2", "", "there is one summary for 1,024 events, and a step reads at most 32,768 of them"},
		{"GET", "/staff/activity?day=2020-01-01", "", "as above"},
		{"GET", "/staff/activity.csv?kind=pet.deleted", "", ""},
		{"GET", "/staff/categories", "", ""},
		{"GET", "/staff/categories/suggestions?category=cat", "", ""},
		{"GET", "/staff/import", "", ""},
		{"GET", "/staff/export/animals.csv", "", "an export reads all animals, page by page"},
		{"GET", "/staff/people", "", ""},
		{"GET", "/staff/settings", "", ""},
		{"GET", "/staff/devices", "", ""},
		{"GET", "/staff/webhooks", "", ""},
		{"GET", "/staff/webhooks/2", "", ""},
		{"POST", "/staff/pets", "name=Rex&category=7", ""},
		{"POST", "/staff/pets/%d/orders", "reference=x", ""},
		{"POST", "/staff/categories", "name=Reptiles", "the name is compared with those of all categories"},
	}
	return list
}

// cursor returns the cursor for the page that begins after an id.
func cursor(id int64) string {
	digits, text := uint64(id)^(1<<63), make([]byte, 13)
	for i := len(text) - 1; i >= 0; i-- {
		text[i] = "0123456789abcdefghjkmnpqrstvwxyz"[digits%32]
		digits /= 32
	}
	return string(text)
}

// unexplained matches the routes that are not tested, because they do not use the store.
var unexplained = regexp.MustCompile(`^GET /(docs|livez|metrics|debug|v1/openapi)`)

// wantEveryRoute fails if no request is sent to one of the API's routes. It does not check the routes of the staff
// pages, because they use the same methods of the service.
func wantEveryRoute(t *testing.T, sent []request) {
	t.Helper()
	source, err := os.ReadFile("../httpapi/routes.go")
	if err != nil {
		t.Fatal(err)
	}
	routes := regexp.MustCompile(`\{"([A-Z]+)", "(/[^"]*)", `).FindAllStringSubmatch(string(source), -1)
	if len(routes) < 40 {
		t.Errorf("found only %d routes", len(routes))
	}
	for _, route := range routes {
		pattern := regexp.MustCompile(`\\\{[^/]*\\\}`).ReplaceAllString(regexp.QuoteMeta(route[2]), `[^/]+`)
		matches := regexp.MustCompile("^" + route[1] + " " + pattern + "$").MatchString
		explained := slices.ContainsFunc(sent, func(r request) bool {
			path, _, _ := strings.Cut(r.path, "?")
			return matches(r.method + " " + path)
		})
		if name := route[1] + " " + route[2]; !explained && !unexplained.MatchString(name) {
			t.Errorf("no request explains %s", name)
		}
	}
}
