package attack

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
	"animalstore/internal/sqlstore"
	"animalstore/internal/storeadmin"
)

// engine is a database engine.
type engine string

const (
	sqlite     engine = "SQLite"
	postgreSQL engine = "PostgreSQL"
)

// storeKind is a kind of store that attacks need. Most attacks need the large one, which is the zero value.
type storeKind int

const (
	large      storeKind = iota // as many animals as the -animals flag says
	small                       // 10,000 animals
	categories                  // two fifths as many animals as large, each in a category of its own
	growing                     // 10,000 animals and those that attacks import
	shown                       // 10,000 animals, all in the shop window
	names                       // 10,000 animals, 50,000 categories with long names, 12,000 that share one name
)

// tills is the number of keys that the shop uses. It is large enough for each key to stay below 5 requests per
// second, the lowest rate limit of an attack.
const tills = 16

// store is a filled store. Several attacks use it, one after the other.
type store struct {
	dir         string
	variables   []string
	animals     int
	tillKeys    []string
	attackerKey string
	ordered     atomic.Int64 // the id of the last animal that the shop has ordered
}

// storeID identifies one of the stores.
type storeID struct {
	kind   storeKind
	engine engine
}

// stores fills each store when an attack needs it for the first time.
type stores struct {
	t      *testing.T
	filled map[storeID]*store
	server *pgtest.Server // nil if no attack has needed PostgreSQL yet
}

func newStores(t *testing.T) *stores { return &stores{t: t, filled: map[storeID]*store{}} }

// get returns the store of the given kind on the given engine. It fills the store first if necessary.
func (s *stores) get(kind storeKind, e engine) *store {
	s.t.Helper()
	id := storeID{kind, e}
	if s.filled[id] == nil {
		s.filled[id] = s.fill(kind, e)
	}
	return s.filled[id]
}

// fill creates a store and the keys for it. It fills a store on PostgreSQL by copying the store of the same
// kind on SQLite.
func (s *stores) fill(kind storeKind, e engine) *store {
	s.t.Helper()
	f := programtest.NewFolderWithKey(s.t)
	filled := &store{dir: f.Dir}
	animal := newPet
	switch kind {
	case small, growing, shown, names:
		filled.animals = 10_000
	case large:
		filled.animals = *animals
	case categories:
		filled.animals, animal = *animals*2/5, newPetInOwnCategory
	}
	database := filepath.Join(f.Dir, "animalstore.db")
	var err error
	switch e {
	case sqlite:
		err = shoptest.Fill(s.t.Context(), database, filled.animals, animal)
		if err == nil && kind == names {
			err = addNamedCategories(s.t.Context(), database)
		}
		if err == nil && kind == shown {
			err = fillWindow(s.t.Context(), database, filled.animals)
		}
	case postgreSQL:
		original := s.get(kind, sqlite)
		filled.ordered.Store(original.ordered.Load())
		from := filepath.Join(original.dir, "animalstore.db")
		if s.server == nil {
			s.server = pgtest.Start(s.t, append([]string{"shared_buffers=128MB", "max_wal_size=4GB"}, pgtest.Durable...)...)
		}
		database = s.server.NewDatabase(s.t)
		err = copyStore(s.t.Context(), from, database)
		// Vacuum now, so that autovacuum does not do it during an attack.
		pgtest.Connect(s.t, database).Do("VACUUM ANALYZE")
	}
	if err != nil {
		s.t.Fatal(err)
	}
	f.Variables = append(f.Variables, "ANIMALSTORE_DATABASE="+database)
	filled.variables = f.Variables
	filled.attackerKey = f.CreateKey("--name", "attacker")
	for i := range tills {
		filled.tillKeys = append(filled.tillKeys, f.CreateKey("--name", fmt.Sprintf("till %d", i)))
	}
	finishJobs(f)
	return filled
}

// commonName is the name of many categories in a store of the kind names.
const commonName = "x"

func addNamedCategories(ctx context.Context, database string) error {
	store, err := sqlstore.Open(ctx, database, sqlstore.Options{})
	if err != nil {
		return err
	}
	return errors.Join(store.Write(ctx, shop.Writing{}, func(tx shop.WriteTx) error {
		ids, err := tx.AssignCategoryIDs(62_000)
		if err != nil {
			return err
		}
		added := make([]shop.Category, len(ids))
		for i, id := range ids {
			added[i] = shop.Category{ID: id, Name: commonName}
			if i < 50_000 {
				added[i].Name = strings.Repeat("ώ", 190) + strconv.Itoa(i)
			}
		}
		return tx.InsertCategories(added...)
	}), store.Close())
}

// finishJobs runs the service until it has nothing more to do, so that work that it does once for a new store,
// such as indexing, is not measured.
func finishJobs(f *programtest.Folder) {
	f.T.Helper()
	const interval, idle = 2 * time.Second, 0.05 // the service counts as idle if it uses less than this share of one processor
	p := f.Serve()
	defer p.Stop()
	programtest.Await(f.T, "the service to be idle", func() bool {
		before := p.Metric("process_cpu_seconds_total")
		time.Sleep(interval)
		return p.Metric("process_cpu_seconds_total")-before < idle*interval.Seconds()
	})
}

func copyStore(ctx context.Context, from, to string) error {
	_, err := storeadmin.Copy(ctx, from, to, func(storeadmin.CopyProgress) {})
	return err
}

// The words in the names of animals. A name from the first half of givenNames never occurs together with a
// breed from the second half of breeds.
var (
	givenNames = []string{"Bella", "Luna", "Milo", "Oscar", "Rex", "Hazel", "Zoë", "Max"}
	breeds     = []string{"Bengal", "Beagle", "Persian", "Poodle", "Siamese", "Terrier", "Ragdoll", "Boxer"}
)

// newPet returns the animal with the given id. Its status is available.
func newPet(id int64) shop.NewPet {
	given := id % 8
	breed := given/4*4 + id/8%4
	return shop.NewPet{Name: fmt.Sprintf("%s, %s %d", givenNames[given], breeds[breed], id), CategoryID: id%20 + 1, Status: shop.Available}
}

func newPetInOwnCategory(id int64) shop.NewPet {
	n := newPet(id)
	n.CategoryID = id
	return n
}
