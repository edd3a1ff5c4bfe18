package shop

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"
)

// WindowPet is an animal as everybody may see it in the shop window. It has no internal member.
type WindowPet struct {
	Pet                Pet       `json:"pet"`
	Category           string    `json:"category,omitempty"` // the name of its category
	Published          bool      `json:"published"`          // always true, as in the profile
	Description        string    `json:"description,omitempty"`
	Breeds             []string  `json:"breeds,omitempty"`
	Mixed              Answer    `json:"mixed,omitzero"`
	Sex                Sex       `json:"sex,omitempty"`
	BirthDate          string    `json:"birthDate,omitempty"` // YYYY-MM-DD
	BirthDateEstimated Answer    `json:"birthDateEstimated,omitzero"`
	Size               Size      `json:"size,omitempty"`
	Color              string    `json:"color,omitempty"`
	Price              Price     `json:"price,omitzero"`
	ArrivalDate        string    `json:"arrivalDate,omitempty"` // YYYY-MM-DD
	Traits             Traits    `json:"traits,omitzero"`
	Tags               []string  `json:"tags,omitempty"`
	ContactURL         string    `json:"contactUrl,omitempty"`
	Photos             []Photo   `json:"photos,omitempty"`
	UpdatedAt          time.Time `json:"updatedAt"`
}

// MarshalJSON returns true or false. An unknown answer must be left out.
func (a Answer) MarshalJSON() ([]byte, error) { return json.Marshal(a == Yes) }

// MarshalJSON returns an object with the traits that are known.
func (t Traits) MarshalJSON() ([]byte, error) {
	known := map[string]bool{}
	for trait, answer := range t {
		if answer != Unknown {
			known[traitNames[trait]] = answer == Yes
		}
	}
	return json.Marshal(known)
}

// IsReserved reports whether somebody else will probably get the animal.
func (p WindowPet) IsReserved() bool { return p.Pet.Status == Pending }

// inWindow reports whether the shop window shows the animal.
func (p Profile) inWindow() bool {
	return p.Published && (p.Pet.Status == Available || p.Pet.Status == Pending)
}

// forWindow returns what everybody may see of the animal.
func (p Profile) forWindow(category string) WindowPet {
	return WindowPet{
		Pet: p.Pet, Category: category, Published: true, Description: p.Description, Breeds: p.Breeds, Mixed: p.Mixed, Sex: p.Sex,
		BirthDate: p.BirthDate, BirthDateEstimated: p.BirthDateEstimated, Size: p.Size, Color: p.Color, Price: p.Price, ArrivalDate: p.ArrivalDate,
		Traits: p.Traits, Tags: p.Tags, ContactURL: p.ContactURL, Photos: p.Photos, UpdatedAt: p.UpdatedAt.UTC(),
	}
}

// WindowFilter selects the animals in the shop window that match all of its fields. Fields with their zero value match
// every animal.
type WindowFilter struct {
	CategoryID *int64
	Sex        Sex
	Size       Size
	Tags       []string
}

func (f WindowFilter) list(page PageRequest) ProfileList {
	return ProfileList{
		ProfileFilter: ProfileFilter{PetFilter: PetFilter{CategoryID: f.CategoryID}, InWindow: true, Sex: f.Sex, Size: f.Size, Tags: f.Tags},
		PageRequest:   page,
	}
}

// WindowPage is a page of the animals in the shop window, newest first.
type WindowPage struct {
	Settings
	Page[WindowPet]
	Choices WindowChoices
	Today   Date
}

// WindowChoices are the values by which the animals in the shop window can be filtered. Sexes, sizes and tags are those of
// the newest animals.
type WindowChoices struct {
	Categories []Category // sorted by name; those without a name are left out
	Sexes      []Sex
	Sizes      []Size
	Tags       []string // the most frequent first
}

// WindowAnimal is one animal in the shop window, together with others like it.
type WindowAnimal struct {
	Settings
	WindowPet
	Gone   bool        // whether it was published once and is not in the window any more; then WindowPet is empty
	Others []WindowPet // others of its category if it has been sold or is in the window, otherwise the newest
	Today  Date
}

// WindowRow is what the shop window needs of each of many animals.
type WindowRow struct {
	ID        int64
	UpdatedAt time.Time
	Sex       Sex
	Size      Size
	Tags      []string
}

// The limits of what a page of the shop window offers besides its animals.
const (
	maxWindowCategories = 40
	maxWindowTags       = 12
	maxWindowOthers     = 4
	// windowSample is how many of the newest animals are examined for sexes, sizes and tags.
	windowSample = 500
)

// Preview makes a read of the shop window return what it would show if it were switched on.
type Preview bool

// errNoWindow is the error of all reads of a shop window that is switched off.
func errNoWindow() error { return Errorf(NotFound, "There is no page at this address.") }

// WindowIsOn reports whether the shop window is switched on.
func (s *Service) WindowIsOn(ctx context.Context, valid *Validity) (bool, error) {
	settings, _, err := windowRead(ctx, s, true, valid, func(_ ReadTx, settings Settings) (Settings, error) { return settings, nil })
	return settings.Window.Enabled, err
}

// Window returns a page of the animals in the shop window. It fails with not_found if the window is switched off. With
// several conditions, the work for one page is bounded, so the page may have fewer items than the limit, or none, even if
// more pages follow.
func (s *Service) Window(ctx context.Context, preview Preview, filter WindowFilter, page PageRequest, valid *Validity) (WindowPage, error) {
	w, today, err := windowRead(ctx, s, preview, valid, func(tx ReadTx, settings Settings) (w WindowPage, err error) {
		w.Settings = settings
		if w.Choices, err = windowChoices(tx); err != nil {
			return w, err
		}
		w.Page, err = windowPage(tx, filter, page)
		return w, err
	})
	w.Today = today
	return w, err
}

// WindowFeed is like Window without choices and a preview.
func (s *Service) WindowFeed(ctx context.Context, filter WindowFilter, page PageRequest, valid *Validity) (WindowPage, error) {
	w, today, err := windowRead(ctx, s, false, valid, func(tx ReadTx, settings Settings) (w WindowPage, err error) {
		w.Settings = settings
		w.Page, err = windowPage(tx, filter, page)
		return w, err
	})
	w.Today = today
	return w, err
}

// WindowRows returns the newest animals in the shop window. It fails with not_found if the window is switched off.
func (s *Service) WindowRows(ctx context.Context, limit int, valid *Validity) ([]WindowRow, error) {
	rows, _, err := windowRead(ctx, s, false, valid, func(tx ReadTx, _ Settings) ([]WindowRow, error) { return tx.WindowRows(limit) })
	return rows, err
}

// WindowAnimal returns an animal in the shop window. It fails with not_found if the window is switched off, or if the
// animal was never published. If it was, but is not in the window any more, Gone is set.
func (s *Service) WindowAnimal(ctx context.Context, preview Preview, id int64, valid *Validity) (WindowAnimal, error) {
	w, today, err := windowRead(ctx, s, preview, valid, func(tx ReadTx, settings Settings) (w WindowAnimal, err error) {
		w.Settings = settings
		profile, _, err := tx.Profile(id)
		if err != nil {
			return w, err
		}
		if profile.inWindow() {
			pets, err := windowPets(tx, []Profile{profile})
			if err != nil {
				return w, err
			}
			w.WindowPet = pets[0]
		} else if w.Gone, err = wasInWindow(tx, id, profile); err != nil {
			return w, err
		} else if !w.Gone {
			return w, errNoWindow()
		}
		var like WindowFilter
		if profile.Published {
			like.CategoryID = &profile.Pet.CategoryID
		}
		w.Others, err = windowOthers(tx, id, like)
		return w, err
	})
	w.Today = today
	return w, err
}

// wasInWindow reports whether an animal that the window does not show was shown before. profile is its profile, if it
// still exists. A published animal without a status never had one.
func wasInWindow(tx ReadTx, id int64, profile Profile) (bool, error) {
	if profile.Published && profile.Pet.Status == "" {
		return false, nil
	}
	return tx.WasPublished(id)
}

// windowRead is like readCurrent. It also returns the day of the shop, and sets valid to the validity of the result, which
// ends with this day, because pages say how old an animal is. It fails with not_found if the window is switched off,
// unless preview is set.
func windowRead[T any](
	ctx context.Context, s *Service, preview Preview, valid *Validity, fn func(ReadTx, Settings) (T, error),
) (value T, today Date, err error) {
	var state CatalogState
	var zone *time.Location
	value, err = readCurrent(ctx, s, Reading{State: &state, Version: valid != nil, Window: true}, func(tx ReadTx) (value T, err error) {
		settings, err := tx.Settings()
		if err != nil {
			return value, err
		}
		if !settings.Window.Enabled && !bool(preview) {
			return value, errNoWindow()
		}
		zone = s.current.locationOf(settings)
		return fn(tx, settings)
	})
	if err != nil {
		return value, today, err
	}
	today = dateOf(state.Time.In(zone))
	if valid != nil {
		*valid = state.validity()
		if _, end := dayBounds(today, zone); end.Before(valid.until) {
			valid.until = end
		}
	}
	return value, today, nil
}

func windowPage(tx ReadTx, filter WindowFilter, request PageRequest) (page Page[WindowPet], err error) {
	profiles, err := tx.Profiles(filter.list(request))
	if err != nil {
		return page, err
	}
	page.More, page.Stopped = profiles.More, profiles.Stopped
	page.Items, err = windowPets(tx, profiles.Items)
	return page, err
}

func windowPets(tx ReadTx, profiles []Profile) ([]WindowPet, error) {
	ids := make([]int64, len(profiles))
	for i, profile := range profiles {
		ids[i] = profile.Pet.CategoryID
	}
	categories, err := categoriesByID(tx, ids)
	if err != nil {
		return nil, err
	}
	pets := make([]WindowPet, len(profiles))
	for i, profile := range profiles {
		pets[i] = profile.forWindow(categories[profile.Pet.CategoryID].Name)
	}
	return pets, nil
}

// windowOthers returns animals that a filter selects, except for the one with the given id. If there are none, it returns
// the newest.
func windowOthers(tx ReadTx, id int64, filter WindowFilter) ([]WindowPet, error) {
	page, err := windowPage(tx, filter, PageRequest{Limit: maxWindowOthers + 1})
	if err != nil {
		return nil, err
	}
	others := slices.DeleteFunc(page.Items, func(p WindowPet) bool { return p.Pet.ID == id })
	if len(others) == 0 && filter.CategoryID != nil {
		return windowOthers(tx, id, WindowFilter{})
	}
	return others[:min(len(others), maxWindowOthers)], nil
}

func windowChoices(tx ReadTx) (c WindowChoices, err error) {
	ids, err := tx.WindowCategories(maxWindowCategories)
	if err != nil {
		return c, err
	}
	categories, err := categoriesByID(tx, ids)
	if err != nil {
		return c, err
	}
	for _, category := range categories {
		if category.Name != "" {
			c.Categories = append(c.Categories, category)
		}
	}
	slices.SortFunc(c.Categories, func(a, b Category) int {
		return cmp.Or(cmp.Compare(CategoryKey(a.Name), CategoryKey(b.Name)), cmp.Compare(a.ID, b.ID))
	})
	rows, err := tx.WindowRows(windowSample)
	if err != nil {
		return c, err
	}
	sexes, sizes, tags := map[Sex]bool{}, map[Size]bool{}, tagCounts{}
	for _, row := range rows {
		sexes[row.Sex], sizes[row.Size] = true, true
		for _, tag := range row.Tags {
			tags.add(tag)
		}
	}
	c.Sexes = slices.DeleteFunc(Sexes(), func(sex Sex) bool { return !sexes[sex] })
	c.Sizes = slices.DeleteFunc(Sizes(), func(size Size) bool { return !sizes[size] })
	c.Tags = tags.mostFrequent(maxWindowTags)
	return c, nil
}

// tagCounts counts tags by their keys.
type tagCounts map[string]*tagCount

type tagCount struct {
	tag   string // as the newest animal with this tag has it
	count int
}

func (t tagCounts) add(tag string) {
	key := CategoryKey(tag)
	if t[key] == nil {
		t[key] = &tagCount{tag: tag}
	}
	t[key].count++
}

func (t tagCounts) mostFrequent(limit int) (tags []string) {
	all := make([]*tagCount, 0, len(t))
	for _, counted := range t {
		all = append(all, counted)
	}
	slices.SortFunc(all, func(a, b *tagCount) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.tag, b.tag))
	})
	for _, counted := range all[:min(len(all), limit)] {
		tags = append(tags, counted.tag)
	}
	return tags
}

// WindowReader contains the methods of ReadTx that only the shop window uses.
type WindowReader interface {
	// WasPublished reports whether the animal with the given id has ever been published, even if it has been removed since.
	WasPublished(id int64) (bool, error)
	// WindowCategories returns the lowest ids of categories with animals in the window, at most limit.
	WindowCategories(limit int) ([]int64, error)
	// WindowRows returns the newest animals in the window, sorted by descending id, at most limit.
	WindowRows(limit int) ([]WindowRow, error)
}
