package e2e

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
)

// bringMany adds several animals at once: all of them, or none. At times one of them cannot be, and so none can.
func (v *visitor) bringMany(ctx context.Context) {
	pets := make([]client.NewPet, 2+v.dice.IntN(12))
	deeds := make([]*deed, len(pets))
	key := v.name("import")
	for i := range pets {
		pets[i] = client.NewPet{Name: fmt.Sprintf("%s/%d", key, i), CategoryID: v.anyCategory(), Status: client.PetPending}
		deeds[i] = &deed{mark: "add " + pets[i].Name, batch: key}
	}
	refusals := []client.Code{}
	if v.dice.IntN(5) == 0 {
		pets[v.dice.IntN(len(pets))].Status = "mislaid"
		refusals = append(refusals, client.CodeValidationFailed)
	}
	var lines bytes.Buffer
	file := csv.NewWriter(&lines)
	file.Write([]string{"name", "categoryId", "status"})
	for _, pet := range pets {
		file.Write([]string{pet.Name, strconv.FormatInt(pet.CategoryID, 10), string(pet.Status)})
	}
	file.Flush()
	inCSV := v.dice.IntN(2) == 0
	for _, d := range deeds[1:] {
		d.sent, d.verdict = time.Since(v.s.begun), lost
		v.s.note(d)
	}
	ok := v.try(ctx, deeds[0], func(ctx context.Context) (string, error) {
		var imported client.Imported
		var err error
		if inCSV {
			imported, err = v.c.ImportFile(ctx, client.CSV, lines.Bytes(), client.IdempotencyKey(key))
		} else {
			imported, err = v.c.ImportPets(ctx, pets, client.IdempotencyKey(key))
		}
		if err == nil && imported.Created != len(pets) {
			v.s.problem("an import of %d animals was answered with %+v", len(pets), imported)
		}
		return "", err
	}, refusals...)
	for _, d := range deeds[1:] {
		d.answered, d.verdict = deeds[0].answered, deeds[0].verdict
	}
	if ok && len(refusals) > 0 {
		v.s.problem("the import %q was not refused", key)
	}
}

// export is one that came whole: when it was asked for, and what was in it.
type export struct {
	begun time.Duration
	ids   map[int64]bool
}

// clerk exports the catalogue again and again, while it changes.
type clerk struct {
	s    *soak
	dice *rand.Rand
	http *http.Client
	c    *client.Client
}

func newClerk(s *soak) *clerk {
	k := &clerk{s: s, dice: rand.New(rand.NewPCG(s.seed, 4000))}
	k.http = &http.Client{Transport: &http.Transport{}, Timeout: patience}
	c, err := client.New(s.longRoad.url()+"/v1", adminKey, client.WithHTTPClient(k.http))
	if err != nil {
		s.t.Fatal(err)
	}
	k.c = c
	return k
}

// mostExports is how many of them are kept to be checked.
const mostExports = 40

// write exports until it is time to go. Nothing is in an export twice, whether it breaks off or not.
func (k *clerk) write(ctx context.Context) {
	defer k.http.CloseIdleConnections()
	for ctx.Err() == nil {
		format := []client.Format{client.CSV, client.NDJSON}[k.dice.IntN(2)]
		one := export{begun: time.Since(k.s.begun)}
		var file bytes.Buffer
		_, err := k.c.ExportFile(ctx, format, &file)
		if e, answered := errors.AsType[*client.Error](err); answered && e.Status != http.StatusServiceUnavailable {
			k.s.problem("an export got %v", err)
		}
		var wrong error
		if one.ids, wrong = exportedIDs(format, file.Bytes()); wrong != nil {
			k.s.problem("an export: %v", wrong)
		}
		if err == nil {
			k.s.keep(one)
		}
		select {
		case <-time.After(time.Duration(100+k.dice.IntN(900)) * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (s *soak) keep(one export) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exported++
	if len(s.exports) < mostExports {
		s.exports = append(s.exports, one)
	} else {
		s.exports[s.exported%mostExports] = one
	}
}

// exportedIDs reads the ids out of an export, which may have broken off in its last line. They must grow.
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
				continue // the names of the columns
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

// checkFiles expects every import to be there whole or not at all, and in every export all that was acknowledged before and is
// there to the end.
func (s story) checkFiles(at map[string][]int, problem func(string, ...any)) {
	type count struct{ all, there int }
	batches := map[string]count{}
	stay := map[int64]bool{}
	for _, p := range s.pets {
		stay[p.ID] = true
	}
	for _, d := range s.deeds {
		if d.batch != "" {
			c := batches[d.batch]
			c.all++
			c.there += min(1, len(at[d.mark]))
			batches[d.batch] = c
		}
		for _, i := range at[d.mark] {
			pet, _, _ := s.events[i].Pet() // markOf has told of an error
			if s.events[i].Type != client.EventPetCreated || d.verdict != done || !stay[pet.ID] {
				continue
			}
			for _, one := range s.exports {
				if d.answered < one.begun && !one.ids[pet.ID] {
					problem("%q was acknowledged after %v, and is not in the export that began after %v", d.mark, d.answered, one.begun)
				}
			}
		}
	}
	for batch, c := range batches {
		if c.there != 0 && c.there != c.all {
			problem("of the %d animals of %q, %d are there", c.all, batch, c.there)
		}
	}
}
