package sqlstore

import (
	"slices"
	"strconv"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/engine"
)

// The limits for the work for one page of a sorted list with filters.
const (
	// maxOrdered is the maximum number of profiles that are sorted in memory, because the filters select no others.
	maxOrdered = 1000
	// orderedAtOnce is the maximum number of profiles that are read at once.
	orderedAtOnce = 200
	// maxOrderedCompared is the maximum number of profiles that are read in the order of the list and compared with the filters.
	maxOrderedCompared = 2000
	// firstOrderedCompared is how many of them are compared before the list is sorted in memory. Often, they fill the page.
	firstOrderedCompared = 200
)

// orderedProfiles returns a page of a list that is not sorted newest first. If the filters select only a few profiles, all of
// them are read and sorted. Otherwise, the profiles are read in the order of the list and compared with the filters.
func (t *tx) orderedProfiles(list shop.ProfileList) (shop.Page[shop.Profile], error) {
	w := orderedWalk{tx: t, list: list, words: shop.SearchWords(list.Query)}
	if list.After != nil {
		w.part, w.after = list.Part(list.AfterKey), &orderedPosition{list.AfterKey, *list.After}
	}
	if len(list.IDs) == 0 {
		if err := w.compare(firstOrderedCompared); err != nil {
			return shop.Page[shop.Profile]{}, err
		}
	}
	if !w.done() && (list.Query != "" || list.Conditions() > 0) {
		few, complete, err := shop.FewProfiles(t, list.ProfileFilter, list.NoTexts, maxOrdered)
		if err != nil {
			return shop.Page[shop.Profile]{}, err
		}
		if complete {
			return list.PageOf(few), nil
		}
	}
	err := w.compare(maxOrderedCompared)
	return w.page(), err
}

// orderedPosition is a position in a sorted list.
type orderedPosition struct {
	key string
	id  int64
}

// orderedWalk reads a sorted list from a position, and compares the profiles with the filters.
type orderedWalk struct {
	*tx
	list     shop.ProfileList
	words    []string
	part     int              // the index of the range of keys that is being read; after the last one come the profiles without a key
	after    *orderedPosition // the position in this part, or nil at its beginning
	compared int
	last     shop.Profile // the last one that was compared, in the part lastPart
	lastPart int
	found    []shop.Profile // at most one more than the page has
	ended    bool
}

func (w *orderedWalk) done() bool { return w.ended || len(w.found) > w.list.Limit }

// compare reads further profiles until n have been compared, the page is full or the list has ended.
func (w *orderedWalk) compare(n int) error {
	for !w.done() && w.compared < n {
		limit := min(n-w.compared, max(w.list.Limit+1, w.compared), orderedAtOnce)
		rows, err := w.read(limit)
		if err != nil {
			return err
		}
		for _, row := range rows {
			w.compared, w.last, w.lastPart = w.compared+1, row, w.part
			if w.matches(row) {
				if w.found = append(w.found, row); w.done() {
					return nil
				}
			}
		}
		switch {
		case len(rows) == limit:
			w.after = new(w.position())
		case w.part == len(w.list.KeyRanges()):
			w.ended = true
		default:
			w.part, w.after = w.part+1, nil
		}
	}
	return nil
}

// position returns the position of the last profile that was compared. The last part also contains profiles with a key, which
// are skipped there.
func (w *orderedWalk) position() orderedPosition {
	if w.lastPart == len(w.list.KeyRanges()) {
		return orderedPosition{"", w.last.Pet.ID}
	}
	return orderedPosition{w.list.Key(w.last), w.last.Pet.ID}
}

// matches reports whether the list shows a profile in the part that is being read.
func (w *orderedWalk) matches(p shop.Profile) bool {
	if w.list.Order != shop.ByName && w.list.Part(w.list.Key(p)) != w.part {
		return false // it has a key, and was shown in another part
	}
	return w.list.Matches(p) && (len(w.words) == 0 || shop.ContainsWords(p.Words(w.list.Internal), w.words))
}

func (w *orderedWalk) page() shop.Page[shop.Profile] {
	switch limit := w.list.Limit; {
	case len(w.found) > limit:
		return shop.Page[shop.Profile]{Items: w.found[:limit], More: true}
	case w.ended:
		return shop.Page[shop.Profile]{Items: w.found}
	default:
		at := w.position()
		return shop.Page[shop.Profile]{Items: w.found, More: true, Stopped: &at.id, StoppedKey: at.key}
	}
}

// read returns at most limit profiles of the current part, in the order of the list.
func (w *orderedWalk) read(limit int) ([]shop.Profile, error) {
	list := w.list
	list.Limit, list.After = limit, nil
	if w.after != nil {
		list.After, list.AfterKey = &w.after.id, w.after.key
	}
	ranges := list.KeyRanges()
	var query string
	var args []any
	switch {
	case w.part < len(ranges):
		query, args = keyedProfilesQuery(w.dialect, list, ranges[w.part])
	case list.Order == shop.ByName:
		query, args = unkeyedPetsQuery(w.dialect, list)
	default:
		if list.Order != shop.OldestFirst {
			list.Order = shop.NewestFirst
		}
		return w.profilePage(list)
	}
	rows, err := engine.AllUpTo(w.Tx, limit, scanProfiles(), query, args...)
	if w.part < len(ranges) {
		slices.SortFunc(rows, list.Compare)
	}
	return rows[:min(len(rows), limit)], err
}

// keyedProfilesQuery returns the query for one page of the profiles whose keys are in a range. Its rows are in no particular
// order. On SQLite, there may be up to twice as many as the page has: those that have the key of the position, and those after.
func keyedProfilesQuery(d *dialect, list shop.ProfileList, part shop.KeyRange) (string, []any) {
	table, key := "pets"+d.byIndex("pets_name"), "name_key"
	switch {
	case list.Order.ByPrice():
		table, key = "profiles"+d.byProfile("price_key"), "price_key"
	case list.Order.ByAge():
		table, key = "profiles"+d.byProfile("birth_date"), "birth_date"
	}
	descending, after, afterKey := list.Order.Descending(), list.After, list.AfterKey
	list.After = nil // it is among the conditions
	follows, direction := " > ", ""
	if descending {
		follows, direction = " < ", " DESC"
	}
	c := &conditions{}
	page := func(order string, texts ...string) (query string) {
		c.texts = append(texts, key+" IS NOT NULL") // as in the condition of the index
		if list.Order.ByAge() {
			c.texts = append(c.texts, "removed = 0")
		}
		query, _ = c.page("SELECT id FROM "+table, list.PageRequest, "", order)
		return query
	}
	order, same, following := key+direction+", id"+direction, "", []string{}
	switch {
	case after == nil:
	case d.byRow:
		following = append(following, "("+key+", id)"+follows+"("+c.placeholder(afterKey)+", "+c.placeholder(*after)+")")
	default: // SQLite would not seek the id in a comparison of rows
		place := c.placeholder(afterKey)
		same = page("id"+direction, key+" = "+place, "id"+follows+c.placeholder(*after))
		following = append(following, key+follows+place)
	}
	if part.Low != "" && (after == nil || descending) {
		following = append(following, key+" >= "+c.placeholder(part.Low))
	}
	if part.High != "" && (after == nil || !descending) {
		following = append(following, key+" < "+c.placeholder(part.High))
	}
	query := page(order, following...)
	if same != "" {
		query = "SELECT id FROM (" + same + ") UNION ALL SELECT id FROM (" + query + ")"
	}
	return profilesOf(listedColumns(list), petsFound(query), ""), c.args
}

// unkeyedPetsQuery returns the query for one page of the profiles of the pets whose names have no key yet, newest first.
func unkeyedPetsQuery(d *dialect, list shop.ProfileList) (string, []any) {
	c := &conditions{texts: []string{isUnkeyedPet}}
	query, args := c.page("SELECT id, name, category_id, status FROM pets"+d.byIndex("pets_unkeyed"), list.PageRequest, "id < %s", "id DESC")
	return profilesOf(listedColumns(list), query, " ORDER BY pet.id DESC"), args
}

// The column name_key of a pet contains shop.NameKey of its name. It is NULL for names that an earlier version has written,
// for names that have been changed and, on SQLite, for new pets, until IndexSearch sets it. These pets are called unkeyed.

// isUnkeyedPet is the condition for the pets whose names have no key yet.
const isUnkeyedPet = "name_key IS NULL"

// keyedPets is the maximum number of pets to which one batch of IndexSearch adds keys.
const keyedPets = 500

// selectUnkeyedPets returns a query for the pets whose names have no key yet.
func (d *dialect) selectUnkeyedPets(columns string) string {
	return "SELECT " + columns + " FROM pets" + d.byIndex("pets_unkeyed") + " WHERE " + isUnkeyedPet
}

// addPetKeys adds the keys of at most keyedPets unkeyed names. It skips pets that another transaction is changing. It reports
// whether there may be more unkeyed names.
func (t *tx) addPetKeys() (more bool, err error) {
	unkeyed, err := all(t, scanPet, t.dialect.selectUnkeyedPets(petColumns)+" ORDER BY id LIMIT "+strconv.Itoa(keyedPets)+t.dialect.skipLocked)
	if err != nil {
		return false, err
	}
	err = inChunks(unkeyed, "(CAST($ AS BIGINT), CAST($ AS TEXT))", func(part []shop.Pet, places string) error {
		var args []any
		for _, pet := range part {
			args = append(args, pet.ID, shop.NameKey(pet.Name))
		}
		return t.Exec("WITH new (id, name_key) AS (VALUES "+places+
			") UPDATE pets SET name_key = new.name_key FROM new WHERE pets.id = new.id", args...)
	})
	return len(unkeyed) == keyedPets, err
}
