package httpapi

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
)

const asCSV = "Content-Type: text/csv"

// csvOf returns a CSV file with a header and the given lines.
func csvOf(lines ...string) string { return "name,categoryId,status\n" + strings.Join(lines, "\n") }

// wantPets checks which animals are in the store, oldest first. Each animal is written as "name categoryId status".
func (s *testShop) wantPets(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, pet := range s.do("GET", "/v1/pets?limit=100", "").pets(t) {
		got = append([]string{strings.TrimSuffix(fmt.Sprintf("%s %d %s", pet.Name, pet.CategoryID, pet.Status), " ")}, got...)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("there are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// CSV files are accepted in all variants that spreadsheet programs write.
func TestCSVOfSpreadsheetProgramsIsRead(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"plain":                       "name,categoryId,status\nRex,1,available\nMia,2",
		"from Excel":                  "\ufeffName;CategoryId;Status\r\nRex;1;available\r\nMia;2;\r\n",
		"tabs":                        "name\tcategoryId\tstatus\nRex\t1\tavailable\nMia\t2\t\n",
		"columns in any order":        "STATUS,id,CATEGORYID,Name\navailable,77,1,Rex\n,77,2,Mia\n",
		"spaces":                      "name, categoryId, status\nRex, 1, available \nMia, 2\n",
		"quotes":                      "\"name\",\"categoryId\",\"status\"\n\"Rex\",\"1\",\"available\"\n\"Mia\",\"2\",\"\"\n",
		"blank lines":                 "\n\nname,categoryId,status\n\nRex,1,available\n\r\n,,\n \nMia,2,\n\n\n",
		"empty columns":               "name;categoryId;status;;\nRex;1;available;;\nMia;2;;;;;\n",
		"old Macs":                    "name,categoryId,status\rRex,1,available\rMia,2,\r",
		"numbers as tables have them": "name,categoryId,status\nRex,1.0,available\nMia,002,\n",
		"decimal commas":              "name;categoryId;status\nRex;1,00;available\nMia;2,0;\n",
		"titles as people write them": "NAME;Category ID;Status\nRex;1;available\nMia;2;\n",
	} {
		rows, err := decodeImport("text/csv", []byte(file))
		if err != nil || len(rows) != 2 || rows[0].NewPet != (shop.NewPet{Name: "Rex", CategoryID: 1, Status: shop.Available}) ||
			rows[1].NewPet != (shop.NewPet{Name: "Mia", CategoryID: 2}) || len(rows[0].Problems)+len(rows[1].Problems) > 0 {
			t.Errorf("%s: got %+v (%v), want the available dog Rex and the cat Mia", name, rows, err)
		}
	}
}

func TestNDJSONIsImported(t *testing.T) {
	s := parallelShop(t)
	file := "\ufeff" + `{"name":"Rex","categoryId":1,"status":"sold"}` + "\r\n\n \n" + `{"id":7,"name":"Mia","categoryId":2e0,"x":3}`
	s.do("POST", "/v1/imports", file).want(t, 200, `{"created":2,"updated":0}`)
	s.do("POST", "/v1/imports", "").want(t, 200, `{"created":0,"updated":0}`)
	s.do("POST", "/v1/imports", "name,categoryId\n", asCSV).want(t, 200, `{"created":0,"updated":0}`)
	s.do("POST", "/v1/imports", "name,categoryId\n=2,1\n'=2,1", asCSV).want(t, 200, `{"created":2,"updated":0}`)
	s.wantPets(t, "Rex 1 sold", "Mia 2", "=2 1", "=2 1")
}

// The id and the etag of an animal and the name of its category are read in the same way from CSV columns and NDJSON
// members.
func TestImportMembersAreRead(t *testing.T) {
	t.Parallel()
	for contentType, file := range map[string]string{
		"text/csv": "id,ETag,name,status,category,categoryId\n7,\"\"\"5\"\"\",Rex,SOLD,Dogs,\n,,Mia,,'=1,2\n1.5,,Tom,,,x\n",
		"application/x-ndjson": `{"id":7,"etag":"\"5\"","name":"Rex","status":"SOLD","category":"Dogs"}` + "\n" +
			`{"name":"Mia","category":"=1","categoryId":2}` + "\n" + `{"id":1.5,"name":"Tom","categoryId":"x"}`,
	} {
		rows, err := decodeImport(contentType, []byte(file))
		if err != nil || len(rows) != 3 {
			t.Fatalf("%s: got %d rows and %v", contentType, len(rows), err)
		}
		rex, mia, tom := rows[0], rows[1], rows[2]
		if rex.ID == nil || *rex.ID != 7 || rex.ETag != `"5"` || rex.Category != "Dogs" || !rex.ByName || rex.Status != "SOLD" || len(rex.Problems) > 0 {
			t.Errorf("%s: got %+v, want the dog Rex with the id 7 and the etag 5", contentType, rex)
		}
		if mia.ID != nil || mia.ETag != "" || mia.Category != "=1" || mia.ByName || mia.CategoryID != 2 || len(mia.Problems) > 0 {
			t.Errorf("%s: got %+v, want Mia in the category 2 with the name =1", contentType, mia)
		}
		if got := tom.Problems.String(); !strings.HasPrefix(got, "categoryId must be a ") || !strings.Contains(got, ", id must be a ") {
			t.Errorf("%s: got %s, want that neither number is an integer", contentType, got)
		}
	}
	for file, want := range map[string]string{
		`{"name":"Rex","category":7}`:                          "category must be a string",
		`{"name":"Rex","categoryId":1,"status":"LOST"}`:        "status must be one of available, pending, sold",
		`{"name":"Rex","categoryId":1,"etag":5,"id":null}`:     "id must be a 64-bit integer, etag must be a string",
		`{"name":"Rex","categoryId":1,"category":"","id":"7"}`: "category must have 1 to 200 characters, not 0, id must be a 64-bit integer",
	} {
		rows, _ := decodeImport("application/x-ndjson", []byte(file))
		if got := rows[0].Problems.String(); got != want {
			t.Errorf("%s: got %s, want %s", file, got, want)
		}
	}
}

// Importing a file that was exported before a sale changes neither the sold animal nor any other animal. The error
// names the line of the sold animal.
func TestOldExportCannotUndoASale(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *testShop) {
		rex := s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
		s.add(`{"name":"Mia","categoryId":1,"status":"available"}`)
		files := map[string]string{}
		for path := range exportPaths {
			files[path] = strings.Replace(string(s.do("GET", path, "").body), "Mia", "Mimi", 1)
		}
		s.do("POST", "/v1/store/orders", fmt.Sprintf(`{"petId":%d}`, rex.ID)).want(t, 201, "")
		for _, status := range []string{"approved", "delivered"} {
			s.do("PATCH", "/v1/store/orders/1", `{"status":"`+status+`"}`).want(t, 200, "")
		}
		before := s.eventLines(t, 0)
		for path, file := range files {
			line := map[string]int{"/v1/exports/pets.csv": 2, "/v1/exports/pets.ndjson": 1}[path]
			for _, query := range []string{"?mode=upsert&dryRun=true", "?mode=upsert"} {
				got := s.do("POST", "/v1/imports"+query, file, exportPaths[path]).wantError(t, 400, shop.ValidationFailed).message(t)
				want := fmt.Sprintf("Nothing was imported because a row is not valid: line %d: etag is out of date, because animal %d has changed since; export it again.", line, rex.ID)
				if got != want {
					t.Errorf("%s: got %s, want %s", path, got, want)
				}
			}
		}
		s.wantPets(t, "Rex 1 sold", "Mia 1 available")
		if after := s.eventLines(t, 0); len(after) != len(before) {
			t.Errorf("there are new events: %v", after[len(before):])
		}
	})
}

// Importing an unchanged export changes nothing. Importing an edited export changes only the animals that were
// edited.
func TestExportCanBeEditedAndImported(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *testShop) {
		s.do("PUT", "/v1/categories/1", `{"name":" =Dogs; and \"Hounds\" "}`).want(t, 201, "")
		s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
		s.add(`{"name":"Mia","categoryId":2}`)
		before := s.eventLines(t, 0)
		tag := s.do("GET", "/v1/pets?id=1", "").Header.Get("ETag")
		for path, header := range exportPaths {
			file := string(s.do("GET", path, "").body)
			if doubled := strings.ReplaceAll(tag, `"`, `""`); !strings.Contains(file, `,"`+doubled+`",`) && !strings.Contains(file, `"etag":"\`+tag[:33]) {
				t.Errorf("%s lacks the ETag %s: %s", path, tag, file)
			}
			s.do("POST", "/v1/imports?mode=upsert", file, header).want(t, 200, `{"created":0,"updated":0}`)
			s.do("POST", "/v1/imports?dryRun=true", file, header).want(t, 200, `{"created":2,"updated":0,"ignoredIds":2}`)
		}
		if after := s.eventLines(t, 0); len(after) != len(before) {
			t.Errorf("there are new events: %v", after[len(before):])
		}
		file := strings.Replace(string(s.do("GET", "/v1/exports/pets.csv", "").body), "Mia", "Mimi", 1) + ",Tom,3,Pending,,\r\n"
		for _, replayed := range []string{"", "true"} {
			got := s.do("POST", "/v1/imports?mode=upsert", file, asCSV, "Idempotency-Key: a").want(t, 200, `{"created":1,"updated":1}`)
			got.wantHeaders(t, "Idempotency-Replayed: "+replayed)
		}
		s.wantPets(t, "Rex 1 available", "Mimi 2", "Tom 3 pending")
		for _, pet := range []string{"mimi", "tom"} { // the cache and the search index reflect the change
			if got := s.do("GET", "/v1/pets?q="+pet, "").pets(t); len(got) != 1 {
				t.Errorf("a search for %s finds %v", pet, got)
			}
		}
	})
}

// No animals are imported from an invalid file. The error message lists the first invalid lines.
func TestInvalidImportIsRefused(t *testing.T) {
	t.Parallel()
	const (
		because     = "Nothing was imported because "
		one, two    = because + "a row is not valid: line ", because + "2 rows are not valid: line "
		columns     = "the columns are name, categoryId or category, and optionally status, id, etag and those of profiles."
		wrongStatus = "status must be one of available, pending, sold"
		wrongNumber = "must be a whole number without separators, such as 1234, not "
		wrongLine   = "is not a JSON object, or has a duplicate member"
	)
	var named []string
	for i := range 20 {
		named = append(named, fmt.Sprintf("line %d: %s", i+2, wrongStatus))
	}
	s := newShop(t)
	for _, c := range []struct{ contentType, file, message string }{
		{asCSV, csvOf("Rex,1,sold", ",x,", "Mia,2,gone"),
			two + "3: name is required, categoryId " + wrongNumber + "\"x\"; line 4: " + wrongStatus + "."},
		{asCSV, csvOf("\"Rex\nthe\nsecond\",1,", "Mia,,"),
			two + "2: name must not contain control characters (U+0000 to U+001F, U+007F); line 5: categoryId or category is required."},
		{asCSV, csvOf("Rex \"the\" dog,1,", "Mia,1.5,"), two + "2: has a quote inside an unquoted value; " +
			"put the value in quotes and double each quote inside it; line 3: categoryId " + wrongNumber + "\"1.5\"."},
		{asCSV, csvOf("Rex,1.000,", "Mia,1.2E+17,"), two + "2: categoryId " + wrongNumber + "\"1.000\"; line 3: categoryId " + wrongNumber + "\"1.2E+17\"."},
		{asCSV, csvOf("Mia,1,", "\"Rex,1,"), one + "3: has a quoted value that does not end correctly; double each quote inside it."},
		{asCSV, csvOf("Rex,1,sold,5"), one + "2: has a value in column 4, which the header line does not name; remove the value or name the column."},
		{asCSV, csvOf("R\xe9x,1,"), "The file is not UTF-8; save it as “CSV UTF-8” in the spreadsheet program."},
		{asCSV, csvOf(strings.Repeat("Rex,1,gone\n", 25)),
			because + "25 rows are not valid; the first 20 are: " + strings.Join(named, "; ") + "."},
		{asCSV, "colour,name,categoryId\nx,Rex,1\n", `The header line names an unknown column "colour"; ` + columns},
		{asCSV, "name,status\nRex,sold\n", "The header line lacks the column categoryId or category; " + columns},
		{asCSV, "name,categoryId,Name\nRex,1,Mia\n", `The header line names the column "Name" twice; name each column once.`},
		{asCSV, "", "The file is empty; the header line must name the columns: " + strings.TrimPrefix(columns, "the columns are ")},
		{asCSV, "\"name,categoryId\n", "The header line has a quoted value that does not end correctly; double each quote inside it."},
		{asCSV, "\xff\xfen\x00a\x00", "The file is UTF-16; save it as CSV in UTF-8."},
		{"", "{\"name\":\"Rex\",\"categoryId\":1}\n\n{\"name\":7}\n{\"name\":\"a\",\"name\":\"b\",\"categoryId\":1}",
			two + "3: name must be a string, categoryId or category is required; line 4: " + wrongLine + "."},
		{"", "[]\n{", two + "1: " + wrongLine + "; line 2: " + wrongLine + "."},
		{"", `{"name":"Rex","categoryId":1,"status":null}`, one + "1: " + wrongStatus + "."},
	} {
		for _, path := range []string{"/v1/imports", "/v1/imports?dryRun=true"} {
			got := s.do("POST", path, c.file, c.contentType).wantError(t, 400, shop.ValidationFailed)
			if message := got.message(t); message != c.message {
				t.Errorf("%q is refused with\n%s\nwant\n%s", c.file, message, c.message)
			}
		}
	}
	s.wantPets(t)
	if events := s.eventLines(t, 0); len(events) > 0 {
		t.Errorf("there are events: %v", events)
	}
}

func TestImportLimits(t *testing.T) {
	s := parallelShop(t)
	file := csvOf(strings.Repeat("Rex,1,sold\n", shop.MaxImport))
	got := s.do("POST", "/v1/imports", file+"Rex,1,sold", asCSV).wantError(t, 413, shop.PayloadTooLarge)
	if want := "The import has more than 10000 animals; send at most 10000 at once."; got.message(t) != want {
		t.Errorf("got %s, want %s", got.message(t), want)
	}
	s.do("POST", "/v1/imports?dryRun=true", file, asCSV).want(t, 200, `{"created":10000,"updated":0}`)
	s.wantPets(t)
	fits := csvOf("Rex,1,")
	full := fits + strings.Repeat("\n", maxImportBytes-len(fits))
	s.do("POST", "/v1/imports", full+"\n", asCSV).wantError(t, 413, shop.PayloadTooLarge)
	s.do("POST", "/v1/imports", full, asCSV).want(t, 200, `{"created":1,"updated":0}`)
	for _, header := range []string{"Content-Type: text/plain", asCSV + "; charset=utf-16", "Content-Type: ", "Content-Encoding: br"} {
		s.do("POST", "/v1/imports", fits, header).wantError(t, 415, shop.UnsupportedMediaType)
	}
	s.do("POST", "/v1/imports", fits, asCSV+"; charset=UTF-8; header=present").want(t, 200, `{"created":1,"updated":0}`)
	for _, query := range []string{"dryRun=", "dryRun=TRUE", "dryRun=true&dryRun=true", "mode=", "mode=Upsert", "mode=update", "mode=create&mode=create"} {
		s.do("POST", "/v1/imports?"+query, fits, asCSV).wantError(t, 400, shop.InvalidParameter)
	}
	s.do("POST", "/v1/imports?dryRun=false", fits, asCSV).want(t, 200, `{"created":1,"updated":0}`)
}

// An import with an Idempotency-Key is executed only once. A dry run counts as a different request.
func TestImportIsIdempotent(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *testShop) {
		file := csvOf("Rex,1,", "Mia,2,")
		s.postAll(t, admission.Imports.Limit().PerKey, nil, "/v1/imports", file, asCSV, "Idempotency-Key: a").Wait()
		s.wantPets(t, "Rex 1", "Mia 2")
		s.do("POST", "/v1/imports?dryRun=true", file, asCSV, "Idempotency-Key: a").wantError(t, 422, shop.IdempotencyKeyReused)
		for _, replayed := range []string{"", "true"} {
			got := s.do("POST", "/v1/imports?dryRun=true", file, asCSV, "Idempotency-Key: b").want(t, 200, `{"created":2,"updated":0}`)
			got.wantHeaders(t, "Idempotency-Replayed: "+replayed)
		}
		s.wantPets(t, "Rex 1", "Mia 2")
	})
}

// A node limits the number of concurrent imports, in total and per API key, and refuses additional imports
// immediately.
func TestImportsAreLimited(t *testing.T) {
	s := parallelShop(t)
	greedy, modest := bearing(s.key(shop.PetsWrite)), bearing(s.key(shop.PetsWrite))
	entered, release := s.Store.HoldWrites()
	limit := admission.Imports.Limit()
	clients := []*sync.WaitGroup{s.postAll(t, limit.PerKey, entered, "/v1/imports", csvOf("Rex,1,"), asCSV, greedy)}
	s.do("POST", "/v1/imports", csvOf("Rex,1,"), asCSV, greedy).wantError(t, 429, shop.RateLimited)
	clients = append(clients, s.postAll(t, limit.Total-limit.PerKey, entered, "/v1/imports", csvOf("Rex,1,"), asCSV, modest))
	s.do("POST", "/v1/imports", csvOf("Rex,1,"), asCSV).wantError(t, 503, shop.Unavailable)
	release()
	for _, group := range clients {
		group.Wait()
	}
	s.do("POST", "/v1/imports", csvOf("Rex,1,"), asCSV).want(t, 200, `{"created":1,"updated":0}`)
}

// An import is refused while too many names wait for the search index, and the response says why and for how long. A dry run
// adds no names, so it is not refused.
func TestImportWaitsForTheSearchIndex(t *testing.T) {
	s := parallelShop(t)
	file := csvOf("Rex,1,")
	s.do("POST", "/v1/imports", file, asCSV, "Idempotency-Key: first").want(t, 200, "")
	if err := s.Store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
		_, err := tx.InsertPets(slices.Repeat([]shop.NewPet{{Name: "Rex", CategoryID: 1}}, admission.MaxWaitingTexts)...)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	refused := s.do("POST", "/v1/imports", file, asCSV).wantError(t, 503, shop.Unavailable)
	refused.wantHeaders(t, "Retry-After: 5")
	if message := refused.message(t); !strings.Contains(message, "search index") {
		t.Errorf("the message is %q", message)
	}
	s.do("POST", "/v1/imports?dryRun=true", file, asCSV).want(t, 200, `{"created":1,"updated":0}`)
	s.do("POST", "/v1/imports", file, asCSV, "Idempotency-Key: first").wantHeaders(t, "Idempotency-Replayed: true")
}
