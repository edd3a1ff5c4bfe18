package golden

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"animalstore/internal/programtest"
)

const mergePatch = "Content-Type: application/merge-patch+json"

var areas = []area{
	{name: "pets", record: pets},
	{name: "categories", record: categories},
	{name: "known-categories", flags: []string{"--categories", "known"}, record: knownCategories},
	{name: "orders", record: orders},
	{name: "events", record: events},
	{name: "restored", prepare: restoreStore, record: restored},
	{name: "files", record: files},
	{name: "keys", record: keys},
	{name: "last-admin-key", unconfigured: true, record: lastAdminKey},
	{name: "webhooks", flags: []string{"--webhook-allow-private"}, record: webhooks},
	{name: "errors", record: errorResponses},
	{name: "removed", flags: []string{"--api-date", "2031-01-01"}, record: removed},
	{name: "rate-limit", flags: []string{"--rate-limit", "1"}, record: rateLimit},
	{name: "cors", flags: []string{"--cors-origin", "https://shop.example"}, record: cors},
	{name: "public-url", flags: []string{"--public-url", "https://animals.example.com/shop/v1", "--staging-url", "https://staging.example.com/v1"}, record: publicURL},
	{name: "staging", flags: []string{"--environment", "staging"}, record: staging},
	{name: "service", record: service},
}

func pets(s *session) {
	s.title("Add animals")
	s.send("POST", "/v1/pets", `{"name":"Rex","categoryId":1,"status":"available"}`)
	s.send("POST", "/v1/pets", `{"name":"Mia","categoryId":2}`)
	s.send("POST", "/v1/pets", `{"name":"Zoë & <Leo>","categoryId":-9223372036854775808,"status":"sold","id":99,"unknown":true}`)
	s.send("POST", "/v1/pets", `{"name":"Rexina","categoryId":1,"status":"pending"}`)
	s.title("Once")
	s.send("POST", "/v1/pets", `{"name":"Max","categoryId":1}`, `Idempotency-Key: "one"`)
	s.send("POST", "/v1/pets", `{"name":"Max","categoryId":1}`, `Idempotency-Key: "one"`)
	s.send("POST", "/v1/pets", `{"name":"Max","categoryId":1}`, `Idempotency-Key: one`)
	s.send("POST", "/v1/pets", `{"name":"Moritz","categoryId":1}`, `Idempotency-Key: "one"`)
	s.send("POST", "/v1/pets", `{"name":"Max","categoryId":1}`, `Idempotency-Key: "`)
	s.send("POST", "/v1/pets", `{"name":"","categoryId":1}`, `Idempotency-Key: "two"`)
	s.send("POST", "/v1/pets", `{"name":"","categoryId":1}`, `Idempotency-Key: "two"`)
	s.title("List them")
	s.pages("/v1/pets?limit=2")
	s.getAndRevalidate("/v1/pets")
	s.getAndRevalidate("/v1/pets?limit=1&categoryId=1")
	s.send("GET", "/v1/pets?status=available", "")
	s.send("GET", "/v1/pets?categoryId=1&status=pending", "")
	s.send("GET", "/v1/pets?q=REX", "")
	s.send("GET", "/v1/pets?q=zo%C3%AB", "")
	s.send("GET", "/v1/pets?id=1&id=3&id=77", "")
	s.send("GET", "/v1/pets?q=nobody", "")
	s.send("GET", "/v1/pets?unknown=1&limit=1", "")
	s.send("GET", "/v1/pets?limit=1", "", "If-None-Match: *")
	s.title("Get one")
	s.getAndRevalidate("/v1/pets/1")
	s.send("GET", "/v1/pets/77", "")
	s.send("GET", "/v1/pets/rex", "")
	s.title("Change one")
	tag := s.send("PATCH", "/v1/pets/1", `{"name":"Rex the second"}`, mergePatch).header.Get("ETag")
	s.send("PATCH", "/v1/pets/1", `{"name":"Rex","categoryId":2}`, mergePatch, "If-Match: "+tag)
	s.send("PATCH", "/v1/pets/1", `{"name":"Rex again"}`, mergePatch, "If-Match: "+tag)
	s.send("PATCH", "/v1/pets/1", `{}`, "If-Match: *")
	s.send("PATCH", "/v1/pets/3", `{"status":"pending"}`, mergePatch)
	s.send("PATCH", "/v1/pets/1", `{"status":null}`, mergePatch)
	s.send("PATCH", "/v1/pets/1", `{"status":"eaten","name":" "}`, mergePatch)
	s.send("PATCH", "/v1/pets/77", `{"name":"Rex"}`, mergePatch)
	s.title("Remove some")
	s.send("DELETE", "/v1/pets/2", "", `If-Match: "other"`)
	s.send("DELETE", "/v1/pets/2", "")
	s.send("DELETE", "/v1/pets/2", "")
	s.send("POST", "/v1/pets", `{"name":"Newest","categoryId":1}`)
	s.title("Methods")
	s.send("OPTIONS", "/v1/pets", "")
	s.send("OPTIONS", "/v1/pets/1", "")
	s.send("PUT", "/v1/pets", `{}`)
	s.send("POST", "/v1/pets/1", `{}`)
	s.title("Count them")
	s.getAndRevalidate("/v1/store/inventory")
}

func categories(s *session) {
	s.title("Add categories")
	s.send("POST", "/v1/categories", `{"name":"Dogs"}`)
	s.send("POST", "/v1/categories", `{"name":"Cats"}`, `Idempotency-Key: "one"`)
	s.send("POST", "/v1/categories", `{"name":"Cats"}`, `Idempotency-Key: "one"`)
	s.send("POST", "/v1/categories", `{"name":"Birds"}`, `Idempotency-Key: "one"`)
	s.send("POST", "/v1/categories", `{}`)
	s.send("PUT", "/v1/categories/7", `{"name":"Fish"}`)
	s.send("PUT", "/v1/categories/7", `{"name":"Fishes"}`)
	s.send("PUT", "/v1/categories/-3", `{"name":"Below"}`)
	s.send("PUT", "/v1/categories/7", `{"name":""}`)
	s.send("POST", "/v1/pets", `{"name":"Rex","categoryId":12}`)
	s.send("POST", "/v1/categories", `{"name":"Next"}`)
	s.title("Show them")
	s.pages("/v1/categories?limit=2")
	s.getAndRevalidate("/v1/categories")
	tag := s.send("GET", "/v1/categories/7", "").header.Get("ETag")
	s.getAndRevalidate("/v1/categories/7")
	s.getAndRevalidate("/v1/categories/12")
	s.send("GET", "/v1/categories/99", "")
	s.send("GET", "/v1/categories/x", "")
	s.title("Conditions")
	s.send("PUT", "/v1/categories/7", `{"name":"Sharks"}`, "If-Match: "+tag)
	s.send("PUT", "/v1/categories/7", `{"name":"Whales"}`, "If-Match: "+tag)
	s.send("PUT", "/v1/categories/50", `{"name":"Whales"}`, "If-Match: *")
	s.title("Remove them")
	s.send("DELETE", "/v1/categories/7", "", "If-Match: "+tag)
	s.send("DELETE", "/v1/categories/7", "")
	s.send("DELETE", "/v1/categories/7", "")
	s.send("DELETE", "/v1/categories/12", "")
	s.title("Methods")
	s.send("OPTIONS", "/v1/categories", "")
	s.send("OPTIONS", "/v1/categories/1", "")
	s.send("PATCH", "/v1/categories/1", `{}`)
	s.send("DELETE", "/v1/categories", "")
}

func knownCategories(s *session) {
	s.title("A category that is not there")
	s.send("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`)
	s.send("PUT", "/v1/categories/1", `{"name":"Dogs"}`)
	s.send("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`)
	s.send("PATCH", "/v1/pets/1", `{"categoryId":2}`, mergePatch)
	s.send("POST", "/v1/imports", "name,categoryId\nMia,1\nLeo,3\n", "Content-Type: text/csv")
}

func orders(s *session) {
	for i := range 4 {
		s.do("POST", "/v1/pets", fmt.Sprintf(`{"name":"Animal %d","categoryId":1,"status":"available"}`, i+1), false)
	}
	s.do("POST", "/v1/pets", `{"name":"No status","categoryId":1}`, false)
	s.title("Place orders")
	s.send("POST", "/v1/store/orders", `{"petId":1,"reference":"the first"}`)
	s.send("POST", "/v1/store/orders", `{"petId":2}`, `Idempotency-Key: "one"`)
	s.send("POST", "/v1/store/orders", `{"petId":2}`, `Idempotency-Key: "one"`)
	s.send("POST", "/v1/store/orders", `{"petId":3}`, `Idempotency-Key: "one"`)
	s.send("POST", "/v1/store/orders", `{"petId":3}`)
	s.send("POST", "/v1/store/orders", `{"petId":1}`)
	s.send("POST", "/v1/store/orders", `{"petId":5}`)
	s.send("POST", "/v1/store/orders", `{"petId":77}`)
	s.send("POST", "/v1/store/orders", `{}`)
	s.send("POST", "/v1/store/orders", `{"petId":4,"reference":""}`)
	s.title("An animal that is held")
	s.send("PATCH", "/v1/pets/1", `{"status":"sold"}`, mergePatch)
	s.send("PATCH", "/v1/pets/1", `{"name":"Renamed"}`, mergePatch)
	s.send("DELETE", "/v1/pets/1", "")
	s.title("Take them further")
	tag := s.send("GET", "/v1/store/orders/1", "").header.Get("ETag")
	s.send("PATCH", "/v1/store/orders/1", `{"status":"approved"}`, mergePatch, "If-Match: "+tag)
	s.send("PATCH", "/v1/store/orders/1", `{"status":"approved"}`, mergePatch, "If-Match: "+tag)
	s.send("PATCH", "/v1/store/orders/1", `{"status":"approved"}`)
	s.send("PATCH", "/v1/store/orders/1", `{"status":"delivered"}`, mergePatch)
	s.send("PATCH", "/v1/store/orders/1", `{"status":"cancelled"}`, mergePatch)
	s.send("PATCH", "/v1/store/orders/2", `{"status":"cancelled"}`, mergePatch)
	s.send("PATCH", "/v1/store/orders/3", `{"status":"expired"}`, mergePatch)
	s.send("PATCH", "/v1/store/orders/3", `{"status":"delivered"}`, mergePatch)
	s.send("PATCH", "/v1/store/orders/3", `{"status":"lost"}`, mergePatch)
	s.send("PATCH", "/v1/store/orders/77", `{"status":"approved"}`, mergePatch)
	s.title("Show them")
	s.pages("/v1/store/orders?limit=2")
	s.getAndRevalidate("/v1/store/orders")
	s.send("GET", "/v1/store/orders?status=placed", "")
	s.send("GET", "/v1/store/orders?petId=1", "")
	s.send("GET", "/v1/store/orders?status=lost", "")
	s.getAndRevalidate("/v1/store/orders/1")
	s.send("GET", "/v1/store/orders/77", "")
	s.title("Methods")
	s.send("OPTIONS", "/v1/store/orders", "")
	s.send("OPTIONS", "/v1/store/orders/1", "")
	s.send("OPTIONS", "/v1/store/inventory", "")
	s.send("DELETE", "/v1/store/orders/1", "")
	s.title("Count the animals")
	s.getAndRevalidate("/v1/store/inventory")
}

func events(s *session) {
	s.title("Nothing has happened")
	s.send("GET", "/v1/events", "")
	s.do("POST", "/v1/pets", `{"name":"Rex","categoryId":1,"status":"available"}`, false)
	s.do("PATCH", "/v1/pets/1", `{"name":"Rexina"}`, false)
	s.do("POST", "/v1/store/orders", `{"petId":1}`, false)
	s.do("PATCH", "/v1/store/orders/1", `{"status":"approved"}`, false)
	s.do("PATCH", "/v1/store/orders/1", `{"status":"delivered"}`, false)
	s.do("PUT", "/v1/categories/1", `{"name":"Dogs"}`, false)
	s.do("DELETE", "/v1/pets/1", "", false)
	s.title("List them")
	s.pages("/v1/events?limit=5")
	s.getAndRevalidate("/v1/events?limit=100")
	s.send("GET", "/v1/events?after=3&limit=1", "")
	s.send("GET", "/v1/events?type=pet.created&type=category.created", "")
	s.send("GET", "/v1/events?subject=store/orders/1", "")
	s.send("GET", "/v1/events?after=999999", "")
	s.send("GET", "/v1/events?after=x", "")
	s.send("GET", "/v1/events?type=pet.eaten", "")
	s.send("GET", "/v1/events?type=pet.created&type=pet.created", "")
	s.send("OPTIONS", "/v1/events", "")
	s.title("Follow them")
	s.stream("/v1/events?after=0&type=pet.created&type=category.deleted", 2, func() {
		s.do("PUT", "/v1/categories/5", `{"name":"Cats"}`, false)
		s.do("DELETE", "/v1/categories/5", "", false)
	})
	s.stream("/v1/events", 2, nil, "Last-Event-ID: 2")
	s.send("GET", "/v1/events?after=x", "", "Accept: text/event-stream")
	s.send("GET", "/v1/events", "", "Accept: text/event-stream", "Last-Event-ID: x")
}

// restoreStore creates a store in which a restore has undone events. Only a SQLite file can be restored, so
// the function restores a file and copies it to the database.
func restoreStore(t *testing.T, database string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "store.db")
	s := newSession(t, engine{open: func(*testing.T) string { return file }}, area{})
	s.do("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`, false)
	programtest.NewFolder(t).MustRun("backup", "--database", file, file+".backup")
	s.do("POST", "/v1/pets", `{"name":"Mia","categoryId":1}`, false)
	s.program.Stop()
	programtest.NewFolder(t).MustRun("restore", "--force", "--database", file, file+".backup")
	programtest.NewFolder(t).MustRun("copy", "--database", file, "--to", database)
}

func restored(s *session) {
	s.title("After an event that was undone")
	s.send("GET", "/v1/events?after=3", "")
	s.stream("/v1/events?after=3", 1, nil)
	s.send("GET", "/v1/events?after=2", "")
	s.send("GET", "/v1/events", "")
	s.send("GET", "/v1/pets", "")
}

func files(s *session) {
	const csv, ndjson = "Content-Type: text/csv", "Content-Type: application/x-ndjson"
	s.title("Export nothing")
	s.send("GET", "/v1/exports/pets.csv", "")
	s.send("GET", "/v1/exports/pets.ndjson", "")
	s.title("Import CSV")
	s.send("POST", "/v1/imports?dryRun=true", "name,categoryId,status\r\nRex,1,available\r\nMia,2,\r\n", csv)
	s.send("POST", "/v1/imports", "name,categoryId,status\r\nRex,1,available\r\nMia,2,\r\n", csv, `Idempotency-Key: "one"`)
	s.send("POST", "/v1/imports", "name,categoryId,status\r\nRex,1,available\r\nMia,2,\r\n", csv, `Idempotency-Key: "one"`)
	s.send("POST", "/v1/imports", "name,categoryId\r\nOther,1\r\n", csv, `Idempotency-Key: "one"`)
	s.send("POST", "/v1/imports", "Status;Name;CategoryId\r\nsold;\"Rex; the second\";1\r\n;'=1+1;2\r\n", csv+"; charset=utf-8")
	s.send("POST", "/v1/imports", "name,categoryId,status\nRex,one,available\n,2,\nMia,2,eaten\n", csv)
	s.send("POST", "/v1/imports?dryRun=true", "name,categoryId,status\nRex,one,available\n", csv)
	s.send("POST", "/v1/imports", "name,colour\nRex,red\n", csv)
	s.send("POST", "/v1/imports", "name,categoryId\n\"Rex,1\n", csv)
	s.send("POST", "/v1/imports", "name,categoryId\n", csv)
	s.send("POST", "/v1/imports", "", csv)
	s.send("POST", "/v1/imports?dryRun=maybe", "name,categoryId\nRex,1\n", csv)
	s.title("Import NDJSON")
	s.send("POST", "/v1/imports", `{"name":"Zoë","categoryId":1,"status":"pending"}`+"\n"+`{"name":"Leo","categoryId":2}`+"\n", ndjson)
	s.send("POST", "/v1/imports", `{"name":"Zoë","categoryId":1}`+"\n"+`{"name":`+"\n", ndjson)
	s.send("POST", "/v1/imports", `{"categoryId":1}`+"\n", ndjson)
	s.title("Other bodies")
	s.send("POST", "/v1/imports", `[]`)
	s.send("POST", "/v1/imports", strings.Repeat("x", 8<<20+1), csv)
	s.send("POST", "/v1/imports", "name,categoryId\n"+strings.Repeat("Rex,1\n", 10_001), csv)
	s.title("Export")
	s.send("GET", "/v1/exports/pets.csv", "")
	s.send("GET", "/v1/exports/pets.ndjson", "")
	s.send("HEAD", "/v1/exports/pets.csv", "")
	s.send("HEAD", "/v1/exports/pets.ndjson", "")
	s.send("OPTIONS", "/v1/exports/pets.csv", "")
	s.send("OPTIONS", "/v1/exports/pets.ndjson", "")
	s.send("OPTIONS", "/v1/imports", "")
	s.send("GET", "/v1/imports", "")
	s.send("GET", "/v1/exports/pets.xml", "")
}

type keyAnswer struct {
	ID  int64
	Key string
}

func keys(s *session) {
	s.title("The configured key")
	s.send("GET", "/v1/keys/current", "")
	s.title("Make keys")
	reader := decode[keyAnswer](s, s.send("POST", "/v1/keys", `{"name":"reader","scopes":["pets:read"]}`).body)
	s.send("POST", "/v1/keys", `{"name":"The website","scopes":["orders:write","pets:read"],"expiresAt":"2099-12-31T00:00:00Z"}`, `Idempotency-Key: "one"`)
	s.send("POST", "/v1/keys", `{"name":"The website","scopes":["orders:write","pets:read"],"expiresAt":"2099-12-31T00:00:00Z"}`, `Idempotency-Key: "one"`)
	s.send("POST", "/v1/keys", `{"name":"boss","scopes":["admin"]}`)
	s.send("POST", "/v1/keys", `{"name":"","scopes":[]}`)
	s.send("POST", "/v1/keys", `{"name":"x","scopes":["everything"]}`)
	s.send("POST", "/v1/keys", `{"name":"x","scopes":["pets:read"],"expiresAt":"2001-01-01T00:00:00Z"}`)
	s.send("POST", "/v1/keys", `{"name":"x","scopes":["pets:read"],"expiresAt":"tomorrow"}`)
	s.title("Use one")
	s.key = reader.Key
	s.send("GET", "/v1/keys/current", "")
	s.send("GET", "/v1/pets", "")
	for _, refused := range []string{
		"POST /v1/pets", "PATCH /v1/pets/1", "DELETE /v1/pets/1", "POST /v1/categories", "PUT /v1/categories/1", "DELETE /v1/categories/1",
		"GET /v1/store/orders", "POST /v1/store/orders", "GET /v1/store/orders/1", "PATCH /v1/store/orders/1", "GET /v1/events", "POST /v1/imports",
		"GET /v1/keys", "POST /v1/keys", "DELETE /v1/keys/1", "POST /v1/keys/1/rotate", "GET /v1/webhooks", "POST /v1/webhooks",
		"GET /v1/webhooks/1", "PATCH /v1/webhooks/1", "DELETE /v1/webhooks/1", "POST /v1/webhooks/1/rotate", "POST /v1/webhooks/1/test",
		"GET /v1/webhooks/1/deliveries", "POST /v1/webhooks/1/deliveries/1/redeliver", "GET /metrics",
	} {
		method, path, _ := strings.Cut(refused, " ")
		s.send(method, path, "")
	}
	s.key = programtest.AdminKey
	s.title("List them")
	s.pages("/v1/keys?limit=2")
	s.send("GET", "/v1/keys", "")
	s.send("HEAD", "/v1/keys", "", "Accept: text/plain")
	s.title("Change the secret")
	s.send("POST", "/v1/keys/1/rotate", "")
	s.send("POST", "/v1/keys/1/rotate", `{"overlapSeconds":3600}`, `Idempotency-Key: "two"`)
	s.send("POST", "/v1/keys/1/rotate", `{"overlapSeconds":3600}`, `Idempotency-Key: "two"`)
	s.send("GET", "/v1/keys/current", "", "Authorization: Bearer "+reader.Key)
	last := decode[keyAnswer](s, s.send("POST", "/v1/keys/1/rotate", `{"overlapSeconds":0}`).body)
	s.send("GET", "/v1/keys/current", "", "Authorization: Bearer "+reader.Key)
	s.send("GET", "/v1/keys/current", "", "Authorization: Bearer "+last.Key)
	s.send("POST", "/v1/keys/1/rotate", `{"overlapSeconds":-1}`)
	s.send("POST", "/v1/keys/77/rotate", "")
	s.title("Revoke them")
	s.send("DELETE", "/v1/keys/1", "")
	s.send("GET", "/v1/keys/current", "", "Authorization: Bearer "+last.Key)
	s.send("DELETE", "/v1/keys/1", "")
	s.send("DELETE", "/v1/keys/3", "")
	s.send("GET", "/v1/keys", "")
	s.send("GET", "/v1/events?type=key.created&type=key.rotated&type=key.revoked", "")
	s.title("Methods")
	s.send("OPTIONS", "/v1/keys", "")
	s.send("OPTIONS", "/v1/keys/2", "")
	s.send("OPTIONS", "/v1/keys/current", "")
	s.send("OPTIONS", "/v1/keys/2/rotate", "")
	s.send("GET", "/v1/keys/2", "")
}

func lastAdminKey(s *session) {
	s.key = programtest.NewFolder(s.T).CreateKey("--name", "boss", "--scope", "admin", "--database", s.database)
	s.addPlaceholders(s.key)
	s.title("The last key that may do everything")
	s.send("GET", "/v1/keys/current", "")
	s.send("POST", "/v1/keys", `{"name":"reader","scopes":["pets:read"]}`)
	s.send("DELETE", "/v1/keys/1", "")
	s.send("DELETE", "/v1/keys/2", "")
}

func errorResponses(s *session) {
	s.do("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`, false)
	s.title("Keys")
	s.send("GET", "/v1/pets", "", "Authorization:")
	s.send("GET", "/v1/pets", "", "Authorization: Basic eDp5")
	s.send("GET", "/v1/pets", "", "Authorization: Bearer wrong")
	s.send("HEAD", "/v1/pets", "", "Authorization: Bearer wrong")
	s.send("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`, "Authorization:")
	s.send("GET", "/v1/pets/1", "", "Authorization:")
	s.title("Paths")
	s.send("GET", "/v1", "")
	s.send("GET", "/v1/", "")
	s.send("GET", "/v1/animals", "")
	s.send("GET", "/v1/animals", "", "Authorization:")
	s.send("GET", "/v1/pets/", "")
	s.send("GET", "/v2/pets", "")
	s.send("GET", "/pets", "")
	s.send("OPTIONS", "/v1/animals", "")
	s.title("Methods")
	s.send("DELETE", "/v1/pets", "")
	s.send("PUT", "/v1/store/inventory", `{}`)
	s.send("TRACE", "/v1/pets", "")
	s.send("DELETE", "/v1/pets", "", "Authorization:")
	s.title("Parameters")
	for _, query := range []string{"limit=0", "limit=101", "limit=x", "limit=", "limit=1&limit=2", "status=eaten", "status=", "categoryId=x",
		"categoryId=9223372036854775808", "q=", "q=%00", "id=x", "id=", "%zz", "cursor=x", "cursor="} {
		s.send("GET", "/v1/pets?"+query, "")
	}
	s.send("GET", "/v1/categories?cursor=x", "")
	s.send("GET", "/v1/store/orders?cursor=x", "")
	s.send("GET", "/v1/store/orders?petId=x", "")
	s.send("GET", "/v1/keys?cursor=x", "")
	s.send("GET", "/v1/webhooks?cursor=x", "")
	s.title("Bodies")
	for _, body := range []string{`{`, `[]`, `null`, `"x"`, `{"name":"Rex","categoryId":1} {}`, `{"name":"Rex","name":"Max","categoryId":1}`,
		"{\"name\":\"\xff\",\"categoryId\":1}", `{}`, `{"name":5,"categoryId":"1"}`, `{"name":"Rex","categoryId":1.5}`,
		`{"name":"Rex","categoryId":9223372036854775808}`, `{"name":"Rex","categoryId":null}`, `{"name":"Re\nx","categoryId":1}`,
		`{"name":"Rex","categoryId":1,"status":"eaten"}`, `{"name":"Rex","categoryId":1,"status":null}`,
		`{"name":"` + strings.Repeat("x", 201) + `","categoryId":1}`} {
		if strings.Contains(body, "\xff") {
			s.title("A name that is not UTF-8")
			s.writeResponse("POST", "/v1/pets", s.do("POST", "/v1/pets", body, false))
			continue
		}
		s.send("POST", "/v1/pets", body)
	}
	s.send("POST", "/v1/pets", "")
	s.send("POST", "/v1/pets", "name=Rex", "Content-Type: application/x-www-form-urlencoded")
	s.send("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`, "Content-Type:")
	s.send("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`, mergePatch)
	s.send("PATCH", "/v1/pets/1", `{"name":"Rex"}`, "Content-Type: text/plain")
	s.send("PATCH", "/v1/pets/1", `[]`, mergePatch)
	s.send("POST", "/v1/pets", `{"name":"`+strings.Repeat("x", 64<<10)+`","categoryId":1}`)
	s.send("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`, "Content-Encoding: gzip")
	s.title("Conditions")
	s.send("PATCH", "/v1/pets/1", `{"name":"Rex"}`, "If-Match: nonsense")
	s.send("PATCH", "/v1/pets/1", `{"name":"Rex"}`, `If-Match: W/"weak", "other"`)
	s.send("GET", "/v1/pets/1", "", "If-None-Match: nonsense")
	s.send("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`, "Idempotency-Key: "+strings.Repeat("x", 256))
}

func removed(s *session) {
	s.title("After the removal of getPet")
	s.send("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`)
	s.send("GET", "/v1/pets/1", "")
	s.send("HEAD", "/v1/pets/1", "")
	s.send("GET", "/v1/pets?id=1", "")
	s.send("PATCH", "/v1/pets/1", `{"name":"Max"}`, mergePatch)
	s.send("OPTIONS", "/v1/pets/1", "")
}

func rateLimit(s *session) {
	s.title("The first request")
	s.send("GET", "/v1/pets", "")
	s.title("One too many")
	programtest.Await(s.T, "a request that is one too many", func() bool {
		a := s.do("GET", "/v1/pets", "", false)
		if a.status != 429 {
			return false
		}
		s.writeResponse("GET", "/v1/pets", a)
		return true
	})
}

func cors(s *session) {
	const origin, other = "Origin: https://shop.example", "Origin: https://other.example"
	s.title("A page of ours")
	s.send("OPTIONS", "/v1/pets", "", origin, "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization", "Authorization:")
	s.send("GET", "/v1/pets", "", origin)
	s.send("GET", "/v1/pets", "", origin, "Authorization:")
	s.title("A page of somebody else")
	s.send("OPTIONS", "/v1/pets", "", other, "Access-Control-Request-Method: POST", "Authorization:")
	s.send("GET", "/v1/pets", "", other)
	s.title("No page")
	s.send("GET", "/v1/pets", "")
}

func publicURL(s *session) {
	s.title("Addresses behind a proxy")
	s.do("POST", "/v1/pets", `{"name":"Mia","categoryId":1}`, false)
	s.send("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`)
	s.send("GET", "/v1/pets?limit=1", "")
	s.send("GET", "/v1/pets/1", "")
	s.send("GET", "/v1/events?limit=1", "")
	s.title("The servers of the document")
	document := decode[map[string]any](s, s.do("GET", "/v1/openapi.json", "", false).body)
	fmt.Fprintf(&s.transcript, "%v\n", document["servers"])
}

func staging(s *session) {
	s.title("A key of the staging deployment")
	s.send("POST", "/v1/keys", `{"name":"reader","scopes":["pets:read"]}`)
	a := s.do("POST", "/v1/keys", `{"name":"other","scopes":["pets:read"]}`, false)
	fmt.Fprintf(&s.transcript, "Keys begin with %s.\n\n", decode[keyAnswer](s, a.body).Key[:len("ask_live_")])
	s.send("GET", "/v1/pets", "", "Authorization: Bearer ask_live_"+strings.Repeat("0", 30)+"_000000")
}

func service(s *session) {
	s.title("Health")
	s.send("GET", "/livez", "", "Authorization:")
	s.send("HEAD", "/livez", "", "Authorization:")
	s.send("POST", "/livez", "", "Authorization:")
	s.send("GET", "/readyz", "", "Authorization:")
	s.send("HEAD", "/readyz", "", "Authorization:")
	s.title("Documents")
	s.getAndRevalidate("/v1/openapi.yaml")
	s.getAndRevalidate("/v1/openapi.json")
	s.send("OPTIONS", "/v1/openapi.json", "")
	s.send("POST", "/v1/openapi.yaml", "")
	s.send("GET", "/docs", "", "Authorization:")
	s.send("GET", "/docs/", "", "Authorization:")
	s.send("GET", "/docs/guides", "", "Authorization:")
	s.send("GET", "/docs/nothing", "", "Authorization:")
	s.title("Metrics need a key")
	s.send("GET", "/metrics", "", "Authorization:")
	s.send("POST", "/metrics", "")
	s.title("Request ids")
	s.send("GET", "/livez", "", "X-Request-Id: an-id-of-my-own")
	s.send("GET", "/livez", "", "X-Request-Id: not an id, or is it?")
	s.title("The root")
	s.send("GET", "/", "", "Authorization:")
}
