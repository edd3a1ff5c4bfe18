package golden

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"path/filepath"
	"strings"
	"testing"

	"animalstore/api/apitest"
	"animalstore/internal/programtest"
	"animalstore/internal/shoptest"
)

// Headers and a body that many requests use.
const (
	once  = ` -H Idempotency-Key: "one"`
	twice = ` -H Idempotency-Key: "two"`
	noKey = " -H Authorization:"
	rex   = `{"name":"Rex","categoryId":1}`
)

var areas = []area{
	{name: "pets", record: pets},
	{name: "profiles", record: profiles},
	{name: "photos", flags: []string{"--photo-quota", "20kB"}, record: photos},
	{name: "categories", record: categories},
	{name: "known-categories", flags: []string{"--categories", "known"}, record: knownCategories},
	{name: "store", record: store},
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
	{name: "public-url", flags: []string{"--public-url", "https://animals.example.com/shop/v1",
		"--staging-url", "https://staging.example.com/v1"}, record: publicURL},
	{name: "staging", flags: []string{"--environment", "staging"}, record: staging},
	{name: "assistants", record: assistants},
	{name: "service", record: service},
}

func pets(s *session) {
	s.play("Add animals", `POST pets {"name":"Rex","categoryId":1,"status":"available"}`,
		`POST pets {"name":"Mia","categoryId":2}`,
		`POST pets {"name":"Zoë & <Leo>","categoryId":-9223372036854775808,"status":"sold","id":99,"unknown":true}`,
		`POST pets {"name":"Rexina","categoryId":1,"status":"pending"}`)
	s.play("Once", `POST pets {"name":"Max","categoryId":1}`+once, `POST pets {"name":"Max","categoryId":1}`+once,
		`POST pets {"name":"Max","categoryId":1} -H Idempotency-Key: one`, `POST pets {"name":"Moritz","categoryId":1}`+once,
		`POST pets {"name":"Max","categoryId":1} -H Idempotency-Key: "`, `POST pets {"name":"","categoryId":1}`+twice,
		`POST pets {"name":"","categoryId":1}`+twice)
	s.play("List them", "PAGES pets?limit=2", "REVALIDATE pets", "REVALIDATE pets?limit=1&categoryId=1",
		"GET pets?status=available", "GET pets?categoryId=1&status=pending", "GET pets?q=REX", "GET pets?q=zo%C3%AB",
		"GET pets?id=1&id=3&id=77", "GET pets?q=nobody", "GET pets?unknown=1&limit=1", "GET pets?limit=1 -H If-None-Match: *")
	s.play("Get one", "REVALIDATE pets/1", "GET pets/77", "GET pets/rex")
	match := " -H If-Match: " + s.play("Change one", `PATCH pets/1 {"name":"Rex the second"}`).header.Get("ETag")
	s.send(`PATCH pets/1 {"name":"Rex","categoryId":2}`+match, `PATCH pets/1 {"name":"Rex again"}`+match,
		"PATCH pets/1 {} -H If-Match: * -H Content-Type: application/json", `PATCH pets/3 {"status":"pending"}`,
		`PATCH pets/1 {"status":null}`, `PATCH pets/1 {"status":"eaten","name":" "}`, `PATCH pets/77 {"name":"Rex"}`)
	s.play("Remove some", `DELETE pets/2 -H If-Match: "other"`, "DELETE pets/2", "DELETE pets/2",
		`POST pets {"name":"Newest","categoryId":1}`)
	s.play("Restore one", "POST pets/2/restore -H Idempotency-Key: two", "POST pets/2/restore -H Idempotency-Key: two",
		"POST pets/2/restore", "POST pets/77/restore")
	s.play("Methods", "OPTIONS pets", "OPTIONS pets/1", "OPTIONS pets/1/restore", "PUT pets {}", "POST pets/1 {}")
	s.play("Count them", "REVALIDATE store/inventory")
}

func profiles(s *session) {
	s.do(`POST pets {"name":"Rex","categoryId":1,"status":"available"}`, `POST pets {"name":"Mia","categoryId":2}`)
	s.play("Empty", "REVALIDATE pets/1/profile", "GET pets/77/profile", "GET pets/rex/profile")
	s.play("Write one", `PATCH pets/1/profile {"published":true,"description":"Likes walks.\r\nCalm.","breeds":["Beagle"],"mixed":false,"sex":"male",`+
		`"birthDate":"2023-04-01","birthDateEstimated":true,"size":"medium","color":"white","price":{"amount":"250.00","currency":"EUR"},`+
		`"arrivalDate":"2026-01-31","traits":{"neutered":true,"goodWithCats":false},"tags":["Friendly","calm"," friendly "],`+
		`"contactUrl":"mailto:shop@example.com","microchip":"276098106123456","location":"Kennel 4","notes":"Shy","unknown":true}`)
	match := " -H If-Match: " + s.play("Change it", `PATCH pets/1/profile {"traits":{"vaccinated":true,"goodWithCats":null},"color":null}`).header.Get("ETag")
	s.send(`PATCH pets/1/profile {"price":{"amount":"199","currency":"EUR"}}`+match, `PATCH pets/1/profile {"color":"red"}`+match,
		`PATCH pets/1/profile {"published":null,"breeds":["a","b","c"],"sex":"f","birthDate":"1.4.2023","size":"huge","price":{"amount":"1.001","currency":"EUR"},`+
			`"traits":{"neutered":1},"tags":["a,b"],"contactUrl":"http://example.com","microchip":"1"}`,
		`PATCH pets/77/profile {"color":"red"}`, "PATCH pets/1/profile []")
	s.play("List them", "PAGES profiles?limit=1", "REVALIDATE profiles?published=true", "GET profiles?published=false", "GET profiles?sex=male&size=medium",
		"GET profiles?tag=FRIENDLY&tag=calm", "GET profiles?q=rex%20beagle", "GET profiles?q=kennel", "GET profiles?id=2&status=available",
		"GET profiles?published=1", "GET profiles?tag=a,b", "GET profiles?size=huge")
	s.play("Methods", "OPTIONS profiles", "OPTIONS pets/1/profile", "PUT pets/1/profile {}")
	s.play("Read the events", "GET events?subject=pets/1/profile", "GET events?subject=pets/1/profile&type=profile.updated&limit=1")
}

func store(s *session) {
	s.play("New", "REVALIDATE store")
	s.play("Write it", `PATCH store {"name":"Happy Paws","phone":"+49 30 123456","email":"shop@example.com","address":["Hauptstraße 1","10115 Berlin"],`+
		`"website":"https://www.example.com/","currency":"EUR","timeZone":"Europe/Berlin","kind":"shelter","window":{"enabled":true,"title":"Our animals",`+
		`"introduction":"Come and see them.\r\nWe are open.","embedOrigins":["https://www.example.com"]},"unknown":true}`)
	match := " -H If-Match: " + s.play("Change it", `PATCH store {"phone":null,"window":{"title":null}}`).header.Get("ETag")
	s.send(`PATCH store {"name":"Paws"}`+match, `PATCH store {"name":"Happy Paws"}`+match, "PATCH store {}",
		`PATCH store {"name":"","email":"x","address":["1","2","3","4","5","6"],"website":"http://example.com","currency":"euro","timeZone":"Berlin","kind":"zoo",`+
			`"window":{"enabled":null,"title":7,"introduction":"\t","embedOrigins":["https://*.example.com"]}}`,
		`PATCH store {"kind":null,"window":null}`, "PATCH store []")
	s.play("Methods", "OPTIONS store", "PUT store {}", "DELETE store")
	s.play("Read the events", "GET events?subject=store", "GET events?type=store.updated&limit=1")
}

func photos(s *session) {
	images := shoptest.Must(apitest.ExampleImages())(s.T)
	var pixel bytes.Buffer
	shoptest.OK(s.T, png.Encode(&pixel, image.NewGray(image.Rect(0, 0, 1, 1))))
	add := func(pet int, content, contentType string) string {
		return fmt.Sprintf("POST pets/%d/photos %s -H Content-Type: %s", pet, content, contentType)
	}
	s.do(`POST pets {"name":"Rex","categoryId":1}`, `POST pets {"name":"Mia","categoryId":2}`)
	s.play("Add photos", "GET pets/1/photos", add(1, images["rex.jpg"], "image/jpeg"), add(1, pixel.String(), "image/png")+once, add(1, pixel.String(), "image/png")+once,
		add(1, images["rex.png"], "image/png")+once)
	s.play("Images that are refused", add(1, images["rex.png"], "image/jpeg"), add(1, "<svg/>", "image/png"), add(1, "{}", "application/json"), add(77, "x", "image/png"))
	file := photoFile.FindString(s.play("Show them", "REVALIDATE pets/1/photos", "REVALIDATE pets/1/photos/1", "GET pets/1/photos/77", "GET pets/1/profile", "GET pets/1/photos/1").body)
	s.send("REVALIDATE "+file+" -H Authorization:", "GET /photos/x.jpg -H Authorization:")
	match := " -H If-Match: " + s.play("Change them", `PATCH pets/1/photos/2 {"position":1,"alt":"Rex sleeps"}`).header.Get("ETag")
	s.send(`PATCH pets/1/photos/2 {"position":99}`+match, `PATCH pets/1/photos/2 {"alt":null}`+match, `PATCH pets/1/photos/2 {"position":0,"alt":""}`)
	s.play("Remove one", "DELETE pets/1/photos/1", "DELETE pets/1/photos/1", "GET "+file+" -H Authorization:")
	for range 11 {
		s.do(add(1, pixel.String(), "image/png"))
	}
	s.play("Too many", add(1, pixel.String(), "image/png"))
	for range 3 {
		s.do(add(2, images["rex.png"], "image/png"))
	}
	s.play("Too much", add(2, images["rex.png"], "image/png"))
	s.play("Methods", "OPTIONS pets/1/photos", "OPTIONS pets/1/photos/1", "OPTIONS /photos/x.jpg")
	s.play("Read the events", "GET events?type=profile.updated&limit=2")
}

func categories(s *session) {
	s.play("Add categories", `POST categories {"name":"Dogs"}`, `POST categories {"name":"Cats"}`+once,
		`POST categories {"name":"Cats"}`+once, `POST categories {"name":"Birds"}`+once, "POST categories {}",
		`PUT categories/7 {"name":"Fish"}`, `PUT categories/7 {"name":"Fishes"}`, `PUT categories/-3 {"name":"Below"}`,
		`PUT categories/7 {"name":""}`, `POST pets {"name":"Rex","categoryId":12}`, `POST categories {"name":"Next"}`)
	s.play("Show them", "PAGES categories?limit=2", "REVALIDATE categories")
	match := " -H If-Match: " + s.send("GET categories/7").header.Get("ETag")
	s.send("REVALIDATE categories/7", "REVALIDATE categories/12", "GET categories/99", "GET categories/x")
	s.play("Conditions", `PUT categories/7 {"name":"Sharks"}`+match, `PUT categories/7 {"name":"Whales"}`+match,
		`PUT categories/50 {"name":"Whales"} -H If-Match: *`)
	s.play("Remove them", "DELETE categories/7"+match, "DELETE categories/7", "DELETE categories/7", "DELETE categories/12")
	s.play("Methods", "OPTIONS categories", "OPTIONS categories/1", "PATCH categories/1 {} -H Content-Type: application/json",
		"DELETE categories")
}

func knownCategories(s *session) {
	s.play("A category that is not there", "POST pets "+rex, `PUT categories/1 {"name":"Dogs"}`, "POST pets "+rex,
		`PATCH pets/1 {"categoryId":2}`, "POST imports name,categoryId\nMia,1\nLeo,3\n -H Content-Type: text/csv")
	s.play("Restore an animal of a category that is gone", `PUT categories/9 {"name":"Mice"}`, `POST pets {"name":"Tom","categoryId":9}`,
		"DELETE pets/2", "DELETE categories/9", "POST pets/2/restore")
}

func orders(s *session) {
	for i := range 4 {
		s.do(fmt.Sprintf(`POST pets {"name":"Animal %d","categoryId":1,"status":"available"}`, i+1))
	}
	s.do(`POST pets {"name":"No status","categoryId":1}`)
	s.play("Place orders", `POST store/orders {"petId":1,"reference":"the first"}`, `POST store/orders {"petId":2}`+once,
		`POST store/orders {"petId":2}`+once, `POST store/orders {"petId":3}`+once, `POST store/orders {"petId":3}`,
		`POST store/orders {"petId":1}`, `POST store/orders {"petId":5}`, `POST store/orders {"petId":77}`,
		"POST store/orders {}", `POST store/orders {"petId":4,"reference":""}`)
	s.play("An animal that is held", `PATCH pets/1 {"status":"sold"}`, `PATCH pets/1 {"name":"Renamed"}`, "DELETE pets/1")
	match := " -H If-Match: " + s.play("Take them further", "GET store/orders/1").header.Get("ETag")
	s.send(`PATCH store/orders/1 {"status":"approved"}`+match, `PATCH store/orders/1 {"status":"approved"}`+match,
		`PATCH store/orders/1 {"status":"approved"} -H Content-Type: application/json`,
		`PATCH store/orders/1 {"status":"delivered"}`, `PATCH store/orders/1 {"status":"cancelled"}`,
		`PATCH store/orders/2 {"status":"cancelled"}`, `PATCH store/orders/3 {"status":"expired"}`,
		`PATCH store/orders/3 {"status":"delivered"}`, `PATCH store/orders/3 {"status":"lost"}`,
		`PATCH store/orders/77 {"status":"approved"}`)
	s.play("Change their references and holds", `PATCH store/orders/3 {"reference":"desk 2"}`, `PATCH store/orders/3 {"reference":"desk 2"}`,
		`PATCH store/orders/3 {"reference":null}`, `PATCH store/orders/3 {"reference":""}`, "PATCH store/orders/3 {}",
		`PATCH store/orders/3 {"holdExpiresAt":"2020-01-01T00:00:00Z"}`, `PATCH store/orders/3 {"holdExpiresAt":null}`,
		`PATCH store/orders/3 {"holdExpiresAt":"2099-01-01T00:00:00Z","status":"approved"}`,
		`PATCH store/orders/3 {"status":"approved","reference":"desk 3"}`, `PATCH store/orders/1 {"reference":"desk 4"}`)
	s.play("Change their days of pick-up and prices", `PATCH store/orders/3 {"pickupDate":"2026-12-05","price":{"amount":"250.00","currency":"EUR"}}`,
		`PATCH store/orders/3 {"pickupDate":null}`, `PATCH store/orders/3 {"price":null}`, `PATCH store/orders/3 {"pickupDate":"2026-02-30","price":{"amount":1}}`,
		`PATCH store/orders/1 {"pickupDate":"2026-12-05"}`)
	s.play("Name the customer", `PATCH store/orders/3 {"customer":{"name":"Ann Miller","phone":"+1 555 0100","email":"ann@example.com"}}`,
		`PATCH store/orders/3 {"customer":{"phone":null}}`, `PATCH store/orders/3 {"customer":{"email":"ann"}}`, "GET store/orders?q=miller",
		"GET store/orders/3 -H Prefer: omit=customers", `PATCH store/orders/1 {"customer":{"name":"Bo"}}`)
	s.play("Undo a step", "POST store/orders/3/undo -H Idempotency-Key: undo", "POST store/orders/3/undo -H Idempotency-Key: undo",
		"POST store/orders/3/undo", "POST store/orders/77/undo")
	s.play("Show them", "PAGES store/orders?limit=2", "REVALIDATE store/orders", "GET store/orders?status=placed",
		"GET store/orders?petId=1", "GET store/orders?pickupDate=2026-12-05",
		"GET store/orders?pickupDate=tomorrow", "GET store/orders?status=lost", "REVALIDATE store/orders/1", "GET store/orders/77")
	s.play("Erase the customer", "DELETE store/orders/3/customer", "DELETE store/orders/3/customer", "GET store/orders/3", "DELETE store/orders/77/customer")
	s.play("Methods", "OPTIONS store/orders/3/customer", "OPTIONS store/orders", "OPTIONS store/orders/1", "OPTIONS store/inventory", "DELETE store/orders/1")
	s.play("Count the animals", "REVALIDATE store/inventory")
}

func events(s *session) {
	s.play("Nothing has happened", "GET events")
	s.do(`POST pets {"name":"Rex","categoryId":1,"status":"available"}`, `PATCH pets/1 {"name":"Rexina"}`,
		`POST store/orders {"petId":1}`, `PATCH store/orders/1 {"status":"approved"}`,
		`PATCH store/orders/1 {"status":"delivered"}`, `PUT categories/1 {"name":"Dogs"}`, "DELETE pets/1")
	s.play("List them", "PAGES events?limit=5", "REVALIDATE events?limit=100", "GET events?after=3&limit=1",
		"GET events?type=pet.created&type=category.created", "GET events?subject=store/orders/1", "GET events?after=999999",
		"GET events?after=x", "GET events?type=pet.eaten", "GET events?type=pet.created&type=pet.created", "OPTIONS events",
		"GET events?actor=configured&since=2020-01-31T18:00:00%2B01:00&until=9000-01-31T18:00:00Z&type=pet.deleted", "GET events?actor=system",
		"GET events?actor=me", "GET events?since=yesterday", "GET events?since=2020-01-31T18:00:00Z&until=2020-01-31T17:00:00Z",
		"GET events?until=2020-01-31T17:00:00Z -H Accept: text/event-stream")
	s.play("Follow them")
	s.stream("events?after=0&type=pet.created&type=category.deleted", 2, func() {
		s.do(`PUT categories/5 {"name":"Cats"}`, "DELETE categories/5")
	})
	s.stream("events -H Last-Event-ID: 2", 2, nil)
	s.send("GET events?after=x -H Accept: text/event-stream", "GET events -H Accept: text/event-stream -H Last-Event-ID: x")
}

// restoreStore creates a store in which a restore has rolled back some events. Only a SQLite file can be restored, so
// the function restores a file and copies it to the database.
func restoreStore(t *testing.T, database string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "store.db")
	s := newSession(t, engine{open: func(*testing.T) string { return file }}, area{})
	s.do("POST pets " + rex)
	programtest.NewFolder(t).MustRun("backup", "--database", file, file+".backup")
	s.do(`POST pets {"name":"Mia","categoryId":1}`)
	s.program.Stop()
	programtest.NewFolder(t).MustRun("restore", "--force", "--database", file, file+".backup")
	programtest.NewFolder(t).MustRun("copy", "--database", file, "--to", database)
}

func restored(s *session) {
	s.play("After an event that was undone", "GET events?after=3")
	s.stream("events?after=3", 1, nil)
	s.send("GET events?after=2", "GET events", "GET pets")
}

func files(s *session) {
	const csv, ndjson = " -H Content-Type: text/csv", " -H Content-Type: application/x-ndjson"
	const two = "name,categoryId,status\r\nRex,1,available\r\nMia,2,\r\n"
	s.play("Export nothing", "GET exports/pets.csv", "GET exports/pets.ndjson")
	s.play("Import CSV", "POST imports?dryRun=true "+two+csv, "POST imports "+two+csv+once, "POST imports "+two+csv+once,
		"POST imports name,categoryId\r\nOther,1\r\n"+csv+once,
		"POST imports Status;Name;CategoryId\r\nsold;\"Rex; the second\";1\r\n;'=1+1;2\r\n"+csv+"; charset=utf-8",
		"POST imports name,categoryId,status\nRex,one,available\n,2,\nMia,2,eaten\n"+csv,
		"POST imports?dryRun=true name,categoryId,status\nRex,one,available\n"+csv)
	s.send("POST imports name,colour\nRex,red\n"+csv, "POST imports name,categoryId\n\"Rex,1\n"+csv, "POST imports name,categoryId\n"+csv,
		"POST imports"+csv, "POST imports?dryRun=maybe name,categoryId\nRex,1\n"+csv)
	s.play("Import NDJSON",
		`POST imports {"name":"Zoë","categoryId":1,"status":"pending"}`+"\n"+`{"name":"Leo","categoryId":2}`+"\n"+ndjson,
		`POST imports {"name":"Zoë","categoryId":1}`+"\n"+`{"name":`+"\n"+ndjson, `POST imports {"categoryId":1}`+"\n"+ndjson)
	tag := strings.ReplaceAll(s.play("Change animals with a file", "GET pets?id=1").header.Get("ETag"), `"`, `""`)
	edited := "id,name,categoryId,status,etag,category\r\n1,Rexi,1,sold,\"" + tag + "\",\r\n,Tom,,Available,,Cats\r\n"
	s.send("POST imports?dryRun=true "+edited+csv, "POST imports?mode=upsert&dryRun=true "+edited+csv, "POST imports?mode=upsert "+edited+csv,
		"POST imports?mode=upsert "+edited+csv, "GET pets?limit=1", "POST imports?mode=replace "+edited+csv,
		"POST imports?mode=upsert id,name,categoryId\r\n1,Rex,1\r\n77,Rex,1\r\n1,Rex,1\r\n"+csv,
		`POST imports?mode=upsert {"id":2,"name":"Mia","category":"cats","status":"PENDING"}`+"\n"+ndjson)
	s.play("Other bodies", "POST imports []", "POST imports "+strings.Repeat("x", 8<<20+1)+csv,
		"POST imports name,categoryId\n"+strings.Repeat("Rex,1\n", 10_001)+csv)
	s.play("Export", "GET exports/pets.csv", "GET exports/pets.ndjson", "HEAD exports/pets.csv", "HEAD exports/pets.ndjson",
		"OPTIONS exports/pets.csv", "OPTIONS exports/pets.ndjson", "OPTIONS imports", "GET imports", "GET exports/pets.xml")
	s.play("Profiles in files", "POST imports name,category,Breed,Price,Currency,Tags,notes\r\nLuna,Cats,Siamese,250,eur,\"calm, big\",shy\r\n"+csv,
		"POST imports?dryRun=true name,category,price,published\r\nLuna,Cats,much,-\r\n"+csv,
		`POST imports?mode=upsert {"id":1,"profileEtag":"x","sex":"male"}`+"\n"+ndjson,
		"GET exports/pets.csv?include=profile", "GET exports/pets.ndjson?include=profile", "GET exports/pets.csv?include=photos")
}

func keyIn(s *session, a recordedResponse) string {
	return programtest.Decode[struct{ Key string }](s.T, a.body).Key
}

func keys(s *session) {
	s.play("The configured key", "GET keys/current")
	reader := " -H Authorization: Bearer " + keyIn(s, s.play("Make keys", `POST keys {"name":"reader","scopes":["pets:read"]}`))
	s.send(`POST keys {"name":"The website","scopes":["orders:write","pets:read"],"expiresAt":"2099-12-31T00:00:00Z"}`+once,
		`POST keys {"name":"The website","scopes":["orders:write","pets:read"],"expiresAt":"2099-12-31T00:00:00Z"}`+once,
		`POST keys {"name":"boss","scopes":["admin"]}`, `POST keys {"name":"","scopes":[]}`,
		`POST keys {"name":"x","scopes":["everything"]}`,
		`POST keys {"name":"x","scopes":["pets:read"],"expiresAt":"2001-01-01T00:00:00Z"}`,
		`POST keys {"name":"x","scopes":["pets:read"],"expiresAt":"tomorrow"}`)
	s.play("Use one", "GET keys/current"+reader, "GET pets"+reader)
	for _, refused := range []string{
		"POST pets", "PATCH pets/1", "DELETE pets/1", "POST categories", "PUT categories/1", "DELETE categories/1", "GET store/orders",
		"POST store/orders", "GET store/orders/1", "PATCH store/orders/1", "POST store/orders/1/undo", "DELETE store/orders/1/customer", "GET events", "POST imports", "GET keys", "POST keys",
		"DELETE keys/1", "POST keys/1/rotate", "GET webhooks", "POST webhooks", "GET webhooks/1", "PATCH webhooks/1", "DELETE webhooks/1",
		"POST webhooks/1/rotate", "POST webhooks/1/test", "GET webhooks/1/deliveries", "POST webhooks/1/deliveries/1/redeliver", "GET /metrics",
	} {
		s.send(refused + reader)
	}
	s.play("List them", "PAGES keys?limit=2", "GET keys", "HEAD keys -H Accept: text/plain")
	s.play("Change the secret", "POST keys/1/rotate", `POST keys/1/rotate {"overlapSeconds":3600}`+twice,
		`POST keys/1/rotate {"overlapSeconds":3600}`+twice, "GET keys/current"+reader)
	last := " -H Authorization: Bearer " + keyIn(s, s.send(`POST keys/1/rotate {"overlapSeconds":0}`))
	s.send("GET keys/current"+reader, "GET keys/current"+last,
		`POST keys/1/rotate {"overlapSeconds":-1}`, "POST keys/77/rotate")
	s.play("Revoke them", "DELETE keys/1", "GET keys/current"+last, "DELETE keys/1",
		"DELETE keys/3", "GET keys", "GET events?type=key.created&type=key.rotated&type=key.revoked")
	s.play("Methods", "OPTIONS keys", "OPTIONS keys/2", "OPTIONS keys/current", "OPTIONS keys/2/rotate", "GET keys/2")
}

func lastAdminKey(s *session) {
	s.key = programtest.NewFolder(s.T).CreateKey("--name", "boss", "--scope", "admin", "--database", s.database)
	s.addPlaceholders(s.key)
	s.play("The last key that may do everything", "GET keys/current", `POST keys {"name":"reader","scopes":["pets:read"]}`,
		"DELETE keys/1", "DELETE keys/2")
}

func errorResponses(s *session) {
	s.do("POST pets " + rex)
	s.play("Keys", "GET pets"+noKey, "GET pets -H Authorization: Basic eDp5", "GET pets -H Authorization: Bearer wrong",
		"HEAD pets -H Authorization: Bearer wrong", "POST pets "+rex+noKey, "GET pets/1"+noKey)
	s.play("Paths", "GET /v1", "GET /v1/", "GET animals", "GET animals"+noKey, "GET pets/", "GET /v2/pets",
		"GET /pets", "OPTIONS animals")
	s.play("Methods", "DELETE pets", "PUT store/inventory {}", "TRACE pets", "DELETE pets"+noKey)
	s.play("Parameters")
	for _, query := range []string{"limit=0", "limit=101", "limit=x", "limit=", "limit=1&limit=2", "status=eaten", "status=", "categoryId=x",
		"categoryId=9223372036854775808", "q=", "q=%00", "id=x", "id=", "%zz", "cursor=x", "cursor="} {
		s.send("GET pets?" + query)
	}
	s.send("GET categories?cursor=x", "GET store/orders?cursor=x", "GET store/orders?petId=x", "GET keys?cursor=x",
		"GET webhooks?cursor=x")
	s.play("Bodies", "POST pets {", "POST pets []", "POST pets null", `POST pets "x"`,
		`POST pets {"name":"Rex","categoryId":1} {}`, `POST pets {"name":"Rex","name":"Max","categoryId":1}`)
	s.play("A name that is not UTF-8")
	s.writeResponse(s.do("POST pets {\"name\":\"\xff\",\"categoryId\":1}"))
	s.send("POST pets {}", `POST pets {"name":5,"categoryId":"1"}`, `POST pets {"name":"Rex","categoryId":1.5}`,
		`POST pets {"name":"Rex","categoryId":9223372036854775808}`, `POST pets {"name":"Rex","categoryId":null}`,
		`POST pets {"name":"Re\nx","categoryId":1}`, `POST pets {"name":"Rex","categoryId":1,"status":"eaten"}`,
		`POST pets {"name":"Rex","categoryId":1,"status":null}`,
		`POST pets {"name":"`+strings.Repeat("x", 201)+`","categoryId":1}`, "POST pets",
		"POST pets name=Rex -H Content-Type: application/x-www-form-urlencoded", "POST pets "+rex+" -H Content-Type:",
		"POST pets "+rex+" -H Content-Type: application/merge-patch+json",
		`PATCH pets/1 {"name":"Rex"} -H Content-Type: text/plain`, "PATCH pets/1 []",
		`POST pets {"name":"`+strings.Repeat("x", 64<<10)+`","categoryId":1}`, "POST pets "+rex+" -H Content-Encoding: gzip")
	s.play("Conditions", `PATCH pets/1 {"name":"Rex"} -H If-Match: nonsense -H Content-Type: application/json`,
		`PATCH pets/1 {"name":"Rex"} -H If-Match: W/"weak", "other" -H Content-Type: application/json`,
		"GET pets/1 -H If-None-Match: nonsense", "POST pets "+rex+" -H Idempotency-Key: "+strings.Repeat("x", 256))
}

func removed(s *session) {
	s.play("After the removal of getPet", "POST pets "+rex, "GET pets/1", "HEAD pets/1", "GET pets?id=1",
		`PATCH pets/1 {"name":"Max"}`, "OPTIONS pets/1")
}

func rateLimit(s *session) {
	s.play("The first request", "GET pets")
	s.play("One too many")
	var a recordedResponse
	programtest.Await(s.T, "a request that is one too many", func() bool {
		a = s.do("GET pets")
		return a.status == 429
	})
	s.writeResponse(a)
}

func cors(s *session) {
	const origin, other = " -H Origin: https://shop.example", " -H Origin: https://other.example"
	const method, header = " -H Access-Control-Request-Method: POST", " -H Access-Control-Request-Headers: authorization"
	s.play("A page of ours", "OPTIONS pets"+origin+method+header+noKey, "GET pets"+origin,
		"GET pets"+origin+noKey)
	s.play("A page of somebody else", "OPTIONS pets"+other+method+noKey, "GET pets"+other)
	s.play("No page", "GET pets")
}

func publicURL(s *session) {
	s.play("Addresses behind a proxy")
	s.do(`POST pets {"name":"Mia","categoryId":1}`)
	s.send("POST pets "+rex, "GET pets?limit=1", "GET pets/1", "GET events?limit=1")
	s.play("The servers of the document")
	document := programtest.Decode[map[string]any](s.T, s.do("GET openapi.json").body)
	fmt.Fprintf(&s.transcript, "%v\n", document["servers"])
}

func staging(s *session) {
	s.play("A key of the staging deployment", `POST keys {"name":"reader","scopes":["pets:read"]}`)
	other := keyIn(s, s.do(`POST keys {"name":"other","scopes":["pets:read"]}`))
	fmt.Fprintf(&s.transcript, "Keys begin with %s.\n\n", other[:len("ask_live_")])
	s.send("GET pets -H Authorization: Bearer ask_live_" + strings.Repeat("0", 30) + "_000000")
}

func assistants(s *session) {
	post := func(method, params string) string {
		return `POST /mcp {"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `} -H Accept: application/json, text/event-stream`
	}
	call := func(name, arguments string) string {
		return post("tools/call", `{"name":"`+name+`","arguments":`+arguments+`}`)
	}
	s.play("Tools", post("tools/list", "{}"))
	s.play("Calls", call("add_animal", `{"name":"Rex","categoryId":1,"status":"available","idempotencyKey":"first animal"}`),
		call("find_animals", `{"text":"rex"}`), call("list_categories", "{}"), call("count_animals", "{}"))
	s.play("Errors of tools", call("get_order", `{"id":7}`), call("get_animal", `{"id":"7"}`),
		call("add_animal", `{"name":"Max","categoryId":1,"idempotencyKey":"first animal"}`))
	s.play("Refusals", post("tools/list", "{}")+noKey, call("nothing", "{}"), post("nothing", "{}"), "POST /mcp [] -H Accept: */*", "GET /mcp", "DELETE /mcp",
		"OPTIONS /mcp", post("ping", "{}")+" -H Accept: text/html", post("ping", "{}")+" -H Origin: https://evil.example",
		post("ping", "{}")+" -H Mcp-Protocol-Version: 1999-01-01")
}

func service(s *session) {
	s.play("Health", "GET /livez"+noKey, "HEAD /livez"+noKey, "POST /livez"+noKey, "GET /readyz"+noKey, "HEAD /readyz"+noKey)
	s.play("Documents", "REVALIDATE openapi.yaml", "REVALIDATE openapi.json", "OPTIONS openapi.json", "POST openapi.yaml",
		"GET /docs"+noKey, "GET /docs/"+noKey, "GET /docs/guides"+noKey, "GET /docs/nothing"+noKey)
	s.play("Metrics need a key", "GET /metrics"+noKey, "POST /metrics")
	s.play("Request ids", "GET /livez -H X-Request-Id: an-id-of-my-own", "GET /livez -H X-Request-Id: not an id, or is it?")
	s.play("The root", "GET /"+noKey)
}
