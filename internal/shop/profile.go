package shop

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Sex is the sex of an animal. The zero value means that it is unknown.
type Sex string

const (
	Female Sex = "female"
	Male   Sex = "male"
)

// Sexes returns every sex that a profile can have.
func Sexes() []Sex { return []Sex{Female, Male} }

// Size is the size of an animal. The zero value means that it is unknown.
type Size string

const (
	Small      Size = "small"
	Medium     Size = "medium"
	Large      Size = "large"
	ExtraLarge Size = "extra-large"
)

// Sizes returns every size that a profile can have, smallest first.
func Sizes() []Size { return []Size{Small, Medium, Large, ExtraLarge} }

// Answer is yes, no or unknown.
type Answer int8

const (
	Unknown Answer = iota
	No
	Yes
)

// AnswerOf returns Yes or No.
func AnswerOf(yes bool) Answer {
	if yes {
		return Yes
	}
	return No
}

// Trait is one of the questions about an animal that Profile.Traits answers.
type Trait int

const (
	Neutered Trait = iota
	Vaccinated
	HouseTrained
	SpecialNeeds
	GoodWithDogs
	GoodWithCats
	GoodWithChildren
	numTraits
)

// Traits are the answers to the questions about an animal.
type Traits [numTraits]Answer

var traitNames = [numTraits]string{
	"neutered", "vaccinated", "houseTrained", "specialNeeds", "goodWithDogs", "goodWithCats", "goodWithChildren",
}

// String returns the trait's name in JSON and in the database.
func (t Trait) String() string { return traitNames[t] }

// AllTraits returns every trait in the order in which they are documented.
func AllTraits() []Trait {
	all := make([]Trait, numTraits)
	for i := range all {
		all[i] = Trait(i)
	}
	return all
}

// Profile is what the shop says of an animal. Every animal has a profile. Fields with their zero value are absent.
type Profile struct {
	Pet                Pet
	Published          bool // whether everybody may see the profile
	Description        string
	Breeds             []string
	Mixed              Answer
	Sex                Sex
	BirthDate          string // YYYY-MM-DD
	BirthDateEstimated Answer
	Size               Size
	Color              string
	Price              Price
	ArrivalDate        string // YYYY-MM-DD
	Traits             Traits
	Tags               []string
	ContactURL         string
	// Microchip, Location and Notes are internal. Only keys with the scope pets:write may see and search them, and they are
	// never part of an event.
	Microchip, Location, Notes string

	Photos    []Photo   // in the order of their positions
	UpdatedAt time.Time // zero if nothing was ever written, or all of it has been removed
}

// ForKey returns the profile as a key may see it that has or does not have the scope pets:write.
func (p Profile) ForKey(mayWrite bool) Profile {
	if !mayWrite {
		p.Microchip, p.Location, p.Notes = "", "", ""
	}
	return p
}

// AppendJSON appends the profile to text as JSON, including its internal members.
func (p Profile) AppendJSON(text []byte) []byte {
	text = append(p.Pet.AppendJSON(append(text, `{"pet":`...)), ',')
	return append(p.appendReadOnly(p.appendMembers(text)), '}')
}

// MarshalJSON leaves out the internal members, so that nothing but AppendJSON ever shows them.
func (p Profile) MarshalJSON() ([]byte, error) { return p.ForKey(false).AppendJSON(nil), nil }

// appendReadOnly appends the members that a client cannot write, except for the animal.
func (p Profile) appendReadOnly(text []byte) []byte {
	text = appendPhotos(text, p.Photos)
	if !p.UpdatedAt.IsZero() {
		text = append(p.UpdatedAt.UTC().AppendFormat(append(text, `,"updatedAt":"`...), time.RFC3339Nano), '"')
	}
	return text
}

// appendMembers appends the members that a client can write.
func (p Profile) appendMembers(text []byte) []byte {
	text = strconv.AppendBool(append(text, `"published":`...), p.Published)
	text = appendText(text, `,"description":`, p.Description)
	text = appendTexts(text, `,"breeds":`, p.Breeds)
	text = appendAnswer(text, `,"mixed":`, p.Mixed)
	text = appendText(text, `,"sex":`, string(p.Sex))
	text = appendText(text, `,"birthDate":`, p.BirthDate)
	text = appendAnswer(text, `,"birthDateEstimated":`, p.BirthDateEstimated)
	text = appendText(text, `,"size":`, string(p.Size))
	text = appendText(text, `,"color":`, p.Color)
	if p.Price != (Price{}) {
		text = appendText(text, `,"price":{"amount":`, p.Price.Amount)
		text = append(appendText(text, `,"currency":`, p.Price.Currency), '}')
	}
	text = appendText(text, `,"arrivalDate":`, p.ArrivalDate)
	text = p.Traits.appendJSON(text)
	text = appendTexts(text, `,"tags":`, p.Tags)
	text = appendText(text, `,"contactUrl":`, p.ContactURL)
	text = appendText(text, `,"microchip":`, p.Microchip)
	text = appendText(text, `,"location":`, p.Location)
	return appendText(text, `,"notes":`, p.Notes)
}

func (t Traits) appendJSON(text []byte) []byte {
	if t == (Traits{}) {
		return text
	}
	text = append(text, `,"traits":`...)
	separator := byte('{')
	for trait, answer := range t {
		if answer != Unknown {
			text = appendAnswer(append(appendQuoted(append(text, separator), traitNames[trait]), ':'), "", answer)
			separator = ','
		}
	}
	return append(text, '}')
}

// appendText appends a member unless its value is empty. name contains the punctuation before the value.
func appendText(text []byte, name, value string) []byte {
	if value == "" {
		return text
	}
	return appendQuoted(append(text, name...), value)
}

func appendTexts(text []byte, name string, values []string) []byte {
	if len(values) == 0 {
		return text
	}
	text = append(text, name...)
	for i, value := range values {
		text = appendQuoted(append(text, "[,"[min(i, 1)]), value)
	}
	return append(text, ']')
}

func appendAnswer(text []byte, name string, value Answer) []byte {
	if value == Unknown {
		return text
	}
	return strconv.AppendBool(append(text, name...), value == Yes)
}

// ETag returns the profile's entity tag, which changes whenever the profile or the animal changes. For a key that may
// not see internal members, call ForKey first.
func (p Profile) ETag() string { return EntityTag(p.AppendJSON(make([]byte, 0, 1024))) }

// MembersETag returns an entity tag that changes only if a member changes that a client can write. It belongs to the profile
// in a file: neither a reservation nor a photo makes the file out of date.
func (p Profile) MembersETag() string { return EntityTag(p.appendMembers(make([]byte, 0, 1024))) }

// AppendTagged appends a text that differs whenever the JSON of two profiles differs, and is a third as long if they have
// photos. It is for the entity tag of a page.
func (p Profile) AppendTagged(text []byte) []byte {
	text = p.appendMembers(append(p.Pet.AppendJSON(text), ' '))
	for _, photo := range p.Photos {
		text = photo.appendTagged(text)
	}
	return strconv.AppendInt(append(text, ' '), p.UpdatedAt.UnixMicro(), 10)
}

// sameMembers reports whether two profiles have the same values in all members that a client can write.
func (p Profile) sameMembers(other Profile) bool {
	return bytes.Equal(p.appendMembers(nil), other.appendMembers(nil))
}

// Missing returns the names of the members that people look for first and that the profile lacks. This is advice: a profile
// can be published without them.
func (p Profile) Missing() (members []string) {
	for _, member := range []struct {
		name  string
		given bool
	}{
		{"photos", len(p.Photos) > 0}, {"description", p.Description != ""}, {"breeds", len(p.Breeds) > 0}, {"sex", p.Sex != ""},
		{"birthDate", p.BirthDate != ""}, {"price", p.Price != (Price{})},
	} {
		if !member.given {
			members = append(members, member.name)
		}
	}
	return members
}

// Words returns the texts in which a search looks, each on a line of its own. They contain those of internal members only
// if internal is set.
func (p Profile) Words(internal bool) string {
	texts := slices.Concat([]string{p.Pet.Name}, p.Breeds, []string{p.Color}, p.Tags)
	if internal {
		texts = append(texts, p.Microchip, p.Location)
	}
	return strings.Join(texts, "\n")
}

func (p Profile) subject() string { return p.Pet.subject() + "/profile" }

// ProfileFilter selects the profiles that match all of its fields. Fields with their zero value match every profile.
type ProfileFilter struct {
	PetFilter // Query selects profiles whose words contain every word of this text
	Published *bool
	InWindow  bool // selects the profiles that the shop window shows
	Sex       Sex
	Size      Size
	Tags      []string // selects profiles that have all of these tags
	NoPhotos  bool     // selects profiles without photos
	Internal  bool     // whether Query also looks into internal members
}

// Matches reports whether the filter selects a profile. It ignores Query and IDs.
func (f ProfileFilter) Matches(p Profile) bool {
	return (f.Status == "" || p.Pet.Status == f.Status) && (!f.NoStatus || p.Pet.Status == "") &&
		(f.CategoryID == nil || p.Pet.CategoryID == *f.CategoryID) &&
		(f.Published == nil || p.Published == *f.Published) && (!f.InWindow || p.inWindow()) && (f.Sex == "" || p.Sex == f.Sex) && (f.Size == "" || p.Size == f.Size) &&
		(!f.NoPhotos || len(p.Photos) == 0) &&
		!slices.ContainsFunc(f.Tags, func(tag string) bool { return !p.hasTag(CategoryKey(tag)) })
}

func (p Profile) hasTag(key string) bool {
	return slices.ContainsFunc(p.Tags, func(tag string) bool { return CategoryKey(tag) == key })
}

// Conditions returns the number of conditions that have no index in common. A list with several of them compares the
// profiles that one index finds.
func (f ProfileFilter) Conditions() int {
	n := len(f.Tags)
	for _, given := range []bool{f.Status != "" || f.NoStatus || f.CategoryID != nil || f.InWindow, f.Published != nil, f.Sex != "", f.Size != "", f.NoPhotos, len(f.IDs) > 0} {
		if given {
			n++
		}
	}
	return n
}

// NeedsComparing reports whether no index finds exactly the profiles that the filter selects, so that profiles have to be
// compared with it.
func (f ProfileFilter) NeedsComparing() bool {
	return f.Query != "" || f.Conditions() > 1 || f.NoPhotos
}

// ProfileList selects one page of the profiles that match a filter.
type ProfileList struct {
	ProfileFilter
	PageRequest
	Order    ProfileOrder
	Currency string // that of the prices that come first if the list is sorted by price
	NoTexts  bool   // leaves out the descriptions and the notes, which may be long
}

// isHeavy reports whether a list counts as a heavy read. A list with several conditions, or with a
// condition and a key, may examine many profiles that it does not return.
func (l ProfileList) isHeavy() bool {
	compares := l.NeedsComparing() || l.Order.HasKey() && l.Conditions() > 0
	return l.Query != "" || compares && len(l.IDs) == 0 || l.Limit > maxQuickRows
}

// ListProfiles returns one page of profiles, newest animal first. With a search text or several conditions, the work for
// one page is bounded, so the page may have fewer items than the limit, or none, even if more pages follow.
func (s *Service) ListProfiles(ctx context.Context, by Caller, list ProfileList) (Page[Profile], error) {
	heavy := list.isHeavy()
	return readCurrent(ctx, s, Reading{By: by, Heavy: heavy, SingleQuery: !heavy}, func(tx ReadTx) (Page[Profile], error) {
		return tx.Profiles(list)
	})
}

// Profile returns the profile of the animal with the given id, including its internal members. It fails with not_found
// if there is no such animal.
func (s *Service) Profile(ctx context.Context, id int64) (Profile, error) {
	return readCurrent(ctx, s, Reading{SingleQuery: true}, func(tx ReadTx) (Profile, error) { return existingProfile(tx, id) })
}

func existingProfile(tx ReadTx, id int64) (Profile, error) {
	profile, found, err := tx.Profile(id)
	if err == nil && !found {
		err = errNoPet(id)
	}
	return profile, err
}

// UpdateProfile changes the profile of an animal. It fails with not_found if there is no such animal, and with
// precondition_failed or validation_failed.
func (s *Service) UpdateProfile(ctx context.Context, by Caller, id int64, change ProfileChange, match Precondition[Profile]) (Profile, error) {
	return write(ctx, s, Writing{By: by, Texts: true}, func(tx *eventTx) (Profile, error) {
		if err := expireDueHold(tx, id); err != nil {
			return Profile{}, err
		}
		before, err := existingProfile(tx, id)
		if err != nil {
			return Profile{}, err
		}
		if err := match.check(before); err != nil {
			return Profile{}, err
		}
		now, err := tx.Now()
		if err != nil {
			return Profile{}, err
		}
		after := change.apply(before)
		if err := after.Problems(now).Err(); err != nil {
			return Profile{}, err
		}
		if after.sameMembers(before) {
			return before, nil
		}
		after = after.writtenAt(now)
		return after, tx.UpdateProfiles(ProfileUpdate{before, after})
	})
}

// writtenAt returns the profile as it is stored after a change. A profile that is empty and has no photos has no time.
func (p Profile) writtenAt(now time.Time) Profile {
	if p.UpdatedAt = now; p.isEmpty() {
		p.UpdatedAt = time.Time{}
	}
	return p
}

// isEmpty reports whether the profile says nothing of its animal and has no photos.
func (p Profile) isEmpty() bool { return p.sameMembers(Profile{}) && len(p.Photos) == 0 }

// ProfileUpdate is a change to a profile. Before must be the profile as it is stored.
type ProfileUpdate struct{ Before, After Profile }

// ProfileReader contains the methods of ReadTx that read profiles.
type ProfileReader interface {
	// Profile returns the profile of the animal with the given id and whether this animal exists.
	Profile(id int64) (Profile, bool, error)
	// Price returns the price in the profile of an animal, or the zero value if there is none.
	Price(petID int64) (Price, error)
	// ProfilesByID returns the profiles of the animals with the given ids in no particular order. It skips unknown ids.
	ProfilesByID(ids []int64) ([]Profile, error)
	// Profiles returns one page of profiles. If the list has several conditions, or is sorted by a key, it does a bounded
	// amount of work. If it stops before it has found list.Limit items or reached the end, Page.Stopped says where. In a list
	// by name, animals that were added or renamed a moment ago may come last.
	Profiles(list ProfileList) (Page[Profile], error)
}

// ProfileMutations contains the methods of Mutations that change profiles. PetMutations.DeletePet keeps the profile of the
// animal, but no method of ProfileReader returns it until RestorePet brings the animal back. EventBookkeeping.RemoveEvents
// removes it together with the last event about the animal, because then the animal cannot be restored any more.
type ProfileMutations interface {
	// UpdateProfiles replaces the profiles of existing animals. A profile without UpdatedAt is empty. No animal may be
	// given more than once.
	UpdateProfiles(...ProfileUpdate) error
}
