package sqlstore

import (
	"strings"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/engine"
	"animalstore/internal/sqlstore/wordindex"
)

// profileFields are the columns of the table profiles that statements write, except for the id, with their SQL types and
// the values that queries return for a pet without a row.
var profileFields = []struct{ name, kind, none string }{
	{"published", "BIGINT", "0"},
	{"breed", "TEXT", "''"},
	{"second_breed", "TEXT", "''"},
	{"mixed", "BIGINT", "-1"},
	{"sex", "TEXT", "''"},
	{"birth_date", "TEXT", "''"},
	{"birth_date_estimated", "BIGINT", "-1"},
	{"size", "TEXT", "''"},
	{"color", "TEXT", "''"},
	{"price", "TEXT", "''"},
	{"currency", "TEXT", "''"},
	{"arrival_date", "TEXT", "''"},
	{"traits", "TEXT", "''"},
	{"tags", "TEXT", "''"},
	{"contact_url", "TEXT", "''"},
	{"microchip", "TEXT", "''"},
	{"location", "TEXT", "''"},
	{"photos", "TEXT", "''"},
	{"updated_at", "BIGINT", "0"},
	{"description", "TEXT", "''"},
	{"notes", "TEXT", "''"},
}

// profileColumns are the columns that queries read. Statements that write the columns in profileFields follow.
var (
	profileColumns = profileColumnList(func(name, _, none string) string { return "coalesce(profile." + name + ", " + none + ")" })
	// petProfileColumns are the columns of a pet, followed by profileColumns.
	petProfileColumns = "pet.id, pet.name, pet.category_id, coalesce(pet.status, ''), " + profileColumns
	// petProfileColumnsWithoutTexts has empty texts in place of the last two columns, which are long texts.
	petProfileColumnsWithoutTexts = petProfileColumns[:strings.Index(petProfileColumns, ", coalesce(profile.description")] + ", '', ''"
	profileInsertion              = &engine.Insertion{Table: "profiles", Columns: "id, " + profileNames, Types: profileTypes}
	profileUpdate                 = newRowUpdate("profiles", profileNames, profileTypes)
	profileNames                  = profileColumnList(func(name, _, _ string) string { return name })
	profileTypes                  = append([]string{"BIGINT"}, strings.Split(profileColumnList(func(_, kind, _ string) string { return kind }), ", ")...)
)

func profileColumnList(column func(name, kind, none string) string) string {
	columns := make([]string, len(profileFields))
	for i, f := range profileFields {
		columns[i] = column(f.name, f.kind, f.none)
	}
	return strings.Join(columns, ", ")
}

// scanProfiles returns a function that scans petProfileColumns. Like scanPets, the function reuses its
// variables for every row.
func scanProfiles() func(Scanner) (shop.Profile, error) {
	var p shop.Profile
	var published, mixed, estimated, updated int64
	var breed, secondBreed, traits, tags, photos string
	columns := []any{
		&p.Pet.ID, &p.Pet.Name, &p.Pet.CategoryID, (*string)(&p.Pet.Status),
		&published, &breed, &secondBreed, &mixed, (*string)(&p.Sex), &p.BirthDate, &estimated, (*string)(&p.Size), &p.Color,
		&p.Price.Amount, &p.Price.Currency, &p.ArrivalDate, &traits, &tags, &p.ContactURL, &p.Microchip, &p.Location,
		&photos, &updated, &p.Description, &p.Notes,
	}
	return func(scan Scanner) (shop.Profile, error) {
		err := scan(columns...)
		p.Published, p.UpdatedAt = published == 1, fromMicros(updated)
		p.Mixed, p.BirthDateEstimated = answerIn(mixed), answerIn(estimated)
		p.Breeds, p.Tags, p.Traits, p.Photos = nil, nil, traitsIn(traits), photosIn(photos)
		for _, b := range []string{breed, secondBreed} {
			if b != "" {
				p.Breeds = append(p.Breeds, b)
			}
		}
		if tags != "" {
			p.Tags = strings.Split(tags, ",")
		}
		return p, err
	}
}

// appendProfile appends the id and one value for each of profileFields to args.
func appendProfile(args []any, p shop.Profile) []any {
	var breeds [2]string
	copy(breeds[:], p.Breeds)
	return append(args, p.Pet.ID, number(p.Published), nullable(breeds[0]), nullable(breeds[1]), answer(p.Mixed), nullable(string(p.Sex)),
		nullable(p.BirthDate), answer(p.BirthDateEstimated), nullable(string(p.Size)), nullable(p.Color), nullable(p.Price.Amount),
		nullable(p.Price.Currency), nullable(p.ArrivalDate), nullable(traitsText(p.Traits)), nullable(strings.Join(p.Tags, ",")),
		nullable(p.ContactURL), nullable(p.Microchip), nullable(p.Location), nullable(photosText(p.Photos)), micros(p.UpdatedAt), nullable(p.Description), nullable(p.Notes))
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// answerIn returns the answer that a column contains: 1, 0 or, instead of NULL, -1.
func answerIn(value int64) shop.Answer {
	if value < 0 {
		return shop.Unknown
	}
	return shop.AnswerOf(value == 1)
}

func answer(a shop.Answer) any {
	if a == shop.Unknown {
		return nil
	}
	return number(a == shop.Yes)
}

// traitsText returns the text for the column traits.
func traitsText(traits shop.Traits) string {
	var words []string
	for trait, answer := range traits {
		switch answer {
		case shop.Yes:
			words = append(words, shop.Trait(trait).String())
		case shop.No:
			words = append(words, "-"+shop.Trait(trait).String())
		}
	}
	return strings.Join(words, " ")
}

func traitsIn(text string) (traits shop.Traits) {
	for word := range strings.FieldsSeq(text) {
		name, no := strings.CutPrefix(word, "-")
		for trait := range traits {
			if shop.Trait(trait).String() == name {
				traits[trait] = shop.AnswerOf(!no)
			}
		}
	}
	return traits
}

// listedColumns returns the columns that a list reads.
func listedColumns(list shop.ProfileList) string {
	if list.NoTexts {
		return petProfileColumnsWithoutTexts
	}
	return petProfileColumns
}

func (t *tx) Profile(id int64) (shop.Profile, bool, error) {
	return one(t, scanProfiles(), profilesOf(petProfileColumns, "SELECT id, name, category_id, status FROM pets WHERE id = $1", ""), id)
}

// petPrice is the price in the profile of a pet.
type petPrice struct {
	petID int64
	shop.Price
}

// selectPrices is the beginning of a query for the prices of pets. Only profiles with a price are found.
const selectPrices = "SELECT id, price, currency FROM profiles WHERE price IS NOT NULL AND "

func scanPetPrice(scan Scanner) (p petPrice, err error) {
	err = scan(&p.petID, &p.Amount, &p.Currency)
	return p, err
}

func (t *tx) Price(petID int64) (shop.Price, error) {
	found, _, err := one(t, scanPetPrice, selectPrices+"id = $1", petID)
	return found.Price, err
}

func (t *tx) ProfilesByID(ids []int64) ([]shop.Profile, error) {
	return allIn(t, ids, scanProfiles(), profilesOf(petProfileColumns, "SELECT id, name, category_id, status FROM pets WHERE id IN (%s)", ""))
}

// profilesOf returns a query for the given columns of the profiles of the pets that another query selects.
func profilesOf(columns, pets, order string) string {
	return "SELECT " + columns + " FROM (" + pets + ") AS pet LEFT JOIN profiles AS profile ON profile.id = pet.id" + order
}

func (t *tx) Profiles(list shop.ProfileList) (shop.Page[shop.Profile], error) {
	if list.Order.HasKey() || list.Order == shop.OldestFirst && list.NeedsComparing() {
		return t.orderedProfiles(list)
	}
	if list.NeedsComparing() {
		return t.searchProfiles(list)
	}
	limit := list.Limit
	list.Limit++ // the additional row shows that another page follows
	rows, err := t.profilePage(list)
	if err != nil || len(rows) <= limit {
		return shop.Page[shop.Profile]{Items: rows}, err
	}
	return shop.Page[shop.Profile]{Items: rows[:limit], More: true}, nil
}

// profilePage reads one page of the profiles that match one condition of the list.
func (t *tx) profilePage(list shop.ProfileList) ([]shop.Profile, error) {
	query, args := profilesQuery(t.dialect, list)
	return engine.AllUpTo(t.Tx, list.Limit, scanProfiles(), query, args...)
}

// profilesQuery returns the query for one page of the profiles that match one condition of the list, newest or oldest first.
// Of several conditions, it uses the one that probably selects the fewest profiles.
func profilesQuery(d *dialect, list shop.ProfileList) (query string, args []any) {
	const columns = "id, name, category_id, status"
	oldestFirst, after, order := list.Order == shop.OldestFirst, "id < %s", "id DESC"
	if oldestFirst {
		after, order = "id > %s", "id"
	}
	c := &conditions{byRow: d.byRow}
	page := func(selection string) {
		query, args = c.page(selection, list.PageRequest, after, order)
	}
	found := func(table, column, value string) {
		c.equal(column, value)
		page("SELECT id FROM " + table)
		query = petsFound(query)
	}
	inProfiles := func(column, value string) {
		c.texts = append(c.texts, "removed = 0", column+" IS NOT NULL") // as in the condition of the index
		found("profiles"+d.byProfile(column), column, value)
	}
	switch {
	case len(list.IDs) == 0 && len(list.Tags) > 0:
		found("profile_tags", "tag", shop.CategoryKey(list.Tags[0]))
	case list.InWindow:
		query, args = windowPage(d, columns, list)
	case len(list.IDs) > 0 || list.CategoryID != nil || list.Status != "" || list.NoStatus:
		query, args = petsQuery(d, columns, shop.PetList{PetFilter: list.PetFilter, PageRequest: list.PageRequest, OldestFirst: oldestFirst})
	case list.Size != "":
		inProfiles("size", string(list.Size))
	case list.Sex != "":
		inProfiles("sex", string(list.Sex))
	case list.Published != nil:
		page("SELECT " + columns + " FROM pets" + d.whetherPublished(c, *list.Published))
	default:
		page("SELECT " + columns + " FROM pets")
	}
	return profilesOf(listedColumns(list), query, " ORDER BY pet."+order), args
}

// petsFound returns a query for the pets whose ids another query finds. CROSS JOIN makes SQLite look them up. It might read
// all pets otherwise.
func petsFound(query string) string {
	return "SELECT pets.id, name, category_id, status FROM (" + query + ") AS found CROSS JOIN pets WHERE pets.id = found.id"
}

// publishedByIndex selects the pets with one of the two partial indexes that SQLite has.
func publishedByIndex(c *conditions, published bool) string {
	if published {
		c.texts = append(c.texts, "published = 1")
		return " INDEXED BY pets_published"
	}
	c.texts = append(c.texts, "published = 0")
	return " INDEXED BY pets_unpublished"
}

// publishedByValue selects the pets with the index that PostgreSQL has for both values.
func publishedByValue(c *conditions, published bool) string {
	c.equal("published", number(published))
	return ""
}

// searchProfiles returns a page of the profiles that contain all words of list.Query and match all conditions. Without
// words, it reads the profiles that match one condition, and compares them with the others.
func (t *tx) searchProfiles(list shop.ProfileList) (shop.Page[shop.Profile], error) {
	lists := []*wordindex.List{petNames, profileWords}
	if list.Internal {
		lists = append(lists, internalWords)
	}
	return search(wordindex.Search[shop.Profile]{
		Index: t.dialect.words, Tx: t.Tx, Lists: lists, Columns: listedColumns(list), Scan: scanProfiles(),
		From: "pets AS pet LEFT JOIN profiles AS profile USING (id)",
		ID:   func(p shop.Profile) int64 { return p.Pet.ID },
		Text: func(p shop.Profile) string { return p.Words(list.Internal) },
		Page: func(limit int, after *int64) ([]shop.Profile, error) {
			return t.profilePage(shop.ProfileList{ProfileFilter: list.ProfileFilter, PageRequest: shop.PageRequest{Limit: limit, After: after}, NoTexts: list.NoTexts})
		},
		Filtered: list.Conditions() > 0,
		ListOnly: len(list.IDs) > 0,
		Matches:  list.Matches,
	}, list.Query, list.PageRequest)
}
