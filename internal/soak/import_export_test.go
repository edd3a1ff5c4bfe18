package soak

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"animalstore/client"
	"animalstore/internal/programtest"
)

// importPets imports several animals in one request, which must create either all of them or none. Sometimes
// one animal is invalid, and then the import must be refused.
func (c *soakClient) importPets(ctx context.Context) {
	pets := make([]client.NewPet, 2+c.rng.IntN(12))
	operations := make([]*operation, len(pets))
	key := c.uniqueName("import")
	for i := range pets {
		pets[i] = client.NewPet{Name: fmt.Sprintf("%s/%d", key, i), CategoryID: c.anyCategory(), Status: client.PetPending}
		operations[i] = &operation{eventKey: "add " + pets[i].Name, batch: key}
	}
	refusals := []client.Code{}
	if c.rng.IntN(5) == 0 {
		pets[c.rng.IntN(len(pets))].Status = "mislaid"
		refusals = append(refusals, client.CodeValidationFailed)
	}
	var lines bytes.Buffer
	file := csv.NewWriter(&lines)
	file.Write([]string{"name", "categoryId", "status"})
	for _, pet := range pets {
		file.Write([]string{pet.Name, strconv.FormatInt(pet.CategoryID, 10), string(pet.Status)})
	}
	file.Flush()
	inCSV := c.rng.IntN(2) == 0
	for _, op := range operations[1:] {
		op.sent, op.result = time.Since(c.s.started), lost
		c.s.recordOperation(op)
	}
	ok := c.do(ctx, operations[0], func(ctx context.Context) (string, error) {
		var imported client.Imported
		var err error
		if inCSV {
			imported, err = c.api.ImportFile(ctx, client.CSV, lines.Bytes(), client.IdempotencyKey(key))
		} else {
			imported, err = c.api.ImportPets(ctx, pets, client.IdempotencyKey(key))
		}
		if err == nil && imported.Created != len(pets) {
			c.s.problem("the response to an import of %d animals is %+v", len(pets), imported)
		}
		return "", err
	}, refusals...)
	for _, op := range operations[1:] {
		op.responded, op.result = operations[0].responded, operations[0].result
	}
	if ok && len(refusals) > 0 {
		c.s.problem("import %q is invalid, but was not refused", key)
	}
}

// exportedPets records when a complete export was requested and which animals it contains.
type exportedPets struct {
	started time.Duration
	ids     map[int64]bool
}

// exporter repeatedly exports the catalogue while clients change it.
type exporter struct {
	s    *soak
	rng  *rand.Rand
	http *http.Client
	api  *client.Client
}

func newExporter(s *soak) *exporter {
	e := &exporter{s: s, rng: rand.New(rand.NewPCG(s.seed, 4000))}
	e.http = &http.Client{Transport: &http.Transport{}, Timeout: programtest.WaitTimeout}
	api, err := client.New(s.streamProxy.url()+"/v1", programtest.AdminKey, client.WithHTTPClient(e.http))
	if err != nil {
		s.t.Fatal(err)
	}
	e.api = api
	return e
}

// maxExports is the maximum number of exports that are kept for the final check.
const maxExports = 40

// run exports the catalogue repeatedly until the context ends. No export may contain an animal twice, even if
// the export is incomplete.
func (e *exporter) run(ctx context.Context) {
	defer e.http.CloseIdleConnections()
	for ctx.Err() == nil {
		format := []client.Format{client.CSV, client.NDJSON}[e.rng.IntN(2)]
		export := exportedPets{started: time.Since(e.s.started)}
		var file bytes.Buffer
		_, err := e.api.ExportFile(ctx, format, &file)
		if failure, responded := errors.AsType[*client.Error](err); responded && failure.Status != http.StatusServiceUnavailable {
			e.s.problem("export: got %v, want no error but 503", err)
		}
		var invalid error
		if export.ids, invalid = exportedIDs(format, file.Bytes()); invalid != nil {
			e.s.problem("export: %v", invalid)
		}
		if err == nil {
			e.s.recordExport(export)
		}
		select {
		case <-time.After(time.Duration(100+e.rng.IntN(900)) * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (s *soak) recordExport(export exportedPets) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exported++
	if len(s.exports) < maxExports {
		s.exports = append(s.exports, export)
	} else {
		s.exports[s.exported%maxExports] = export
	}
}

// exportedIDs returns the animal IDs in an export, whose last line may be incomplete. It returns an error if
// the IDs are not in ascending order.
func exportedIDs(format client.Format, file []byte) (map[int64]bool, error) {
	file = file[:bytes.LastIndexByte(file, '\n')+1]
	ids, last := map[int64]bool{}, int64(0)
	add := func(id int64) error {
		if id <= last {
			return fmt.Errorf("%d comes after %d", id, last)
		}
		ids[id], last = true, id
		return nil
	}
	if format == client.CSV {
		rows, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
		for i, row := range rows {
			if i == 0 {
				continue // skip the header
			}
			id, idErr := strconv.ParseInt(row[0], 10, 64)
			if err = errors.Join(err, idErr); err == nil {
				err = add(id)
			}
		}
		return ids, err
	}
	for line := range bytes.Lines(file) {
		var pet client.Pet
		err := json.Unmarshal(line, &pet)
		if err == nil {
			err = add(pet.ID)
		}
		if err != nil {
			return ids, err
		}
	}
	return ids, nil
}

// checkImportsAndExports checks that each import created either all of its animals or none. It also checks
// that every export contains all animals that were acknowledged before the export began and were never
// removed.
func (s soakHistory) checkImportsAndExports(at map[string][]int, problem func(string, ...any)) {
	type count struct{ all, found int }
	batches := map[string]count{}
	remaining := map[int64]bool{}
	for _, p := range s.pets {
		remaining[p.ID] = true
	}
	for _, op := range s.operations {
		if op.batch != "" {
			c := batches[op.batch]
			c.all++
			c.found += min(1, len(at[op.eventKey]))
			batches[op.batch] = c
		}
		for _, i := range at[op.eventKey] {
			pet, _, _ := s.events[i].Pet() // check has already reported any error
			if s.events[i].Type != client.EventPetCreated || op.result != done || !remaining[pet.ID] {
				continue
			}
			for _, export := range s.exports {
				if op.responded < export.started && !export.ids[pet.ID] {
					problem("%q was acknowledged at %v, but is not in the export that began at %v", op.eventKey, op.responded, export.started)
				}
			}
		}
	}
	for batch, c := range batches {
		if c.found != 0 && c.found != c.all {
			problem("%d of the %d animals of import %q exist", c.found, c.all, batch)
		}
	}
}
