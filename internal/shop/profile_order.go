package shop

import (
	"cmp"
	"slices"
	"strings"
)

// ProfileOrder is the order of a list of profiles. Animals with the same key are in the order of their ids, and those
// without a key come last, newest first.
type ProfileOrder string

const (
	NewestFirst   ProfileOrder = ""
	OldestFirst   ProfileOrder = "oldest"
	ByName        ProfileOrder = "name"
	CheapestFirst ProfileOrder = "price"
	DearestFirst  ProfileOrder = "price-high"
	YoungestFirst ProfileOrder = "age"
	EldestFirst   ProfileOrder = "age-high"
)

// ProfileOrders returns every order, in the order in which users see them.
func ProfileOrders() []ProfileOrder {
	return []ProfileOrder{NewestFirst, OldestFirst, ByName, CheapestFirst, DearestFirst, YoungestFirst, EldestFirst}
}

// Descending reports whether the keys of the list descend.
func (o ProfileOrder) Descending() bool { return o == DearestFirst || o == YoungestFirst }

// ByPrice reports whether the keys of the list are prices.
func (o ProfileOrder) ByPrice() bool { return o == CheapestFirst || o == DearestFirst }

// ByAge reports whether the keys of the list are dates of birth.
func (o ProfileOrder) ByAge() bool { return o == YoungestFirst || o == EldestFirst }

// HasKey reports whether the list is sorted by something else than the ids.
func (o ProfileOrder) HasKey() bool { return o == ByName || o.ByPrice() || o.ByAge() }

// maxNameKey is the number of letters by which names are sorted.
const maxNameKey = 64

// NameKey returns the text by which a name is sorted. Names that differ only in letter case or diacritics have the same key.
// It is never empty.
func NameKey(name string) string {
	name = strings.TrimLeft(name, " ")
	key := FoldSearch(name)
	if key == "" {
		key = name
	}
	n := 0
	for i := range key {
		if n++; n > maxNameKey {
			return key[:i]
		}
	}
	return key
}

// PriceKey returns the text by which a price is sorted: by its currency, and then by its amount. It is empty if there is no
// price.
func PriceKey(p Price) string {
	if p == (Price{}) {
		return ""
	}
	whole, fraction, _ := strings.Cut(p.Amount, ".")
	const zeros = "000000000"
	return p.Currency + zeros[min(len(whole), maxPriceDigits):] + whole + "." + (fraction + zeros)[:len(currencies)-1]
}

// KeyRange is a part of a sorted list: the keys from Low up to, but not including, High. Without High, it has no end.
type KeyRange struct{ Low, High string }

// contains reports whether a key is in the range.
func (r KeyRange) contains(key string) bool { return key >= r.Low && (r.High == "" || key < r.High) }

// KeyRanges returns the parts of the list in their order. The animals without a key follow. Prices in different currencies
// cannot be compared, so those in the currency of the shop come first.
func (l ProfileList) KeyRanges() []KeyRange {
	if !l.Order.HasKey() {
		return nil
	}
	if !l.Order.ByPrice() || l.Currency == "" {
		return []KeyRange{{}}
	}
	end := l.Currency + "~" // follows every amount in the currency
	parts := []KeyRange{{Low: l.Currency, High: end}, {High: l.Currency}, {Low: end}}
	if l.Order.Descending() {
		parts[1], parts[2] = parts[2], parts[1]
	}
	return parts
}

// Part returns the index of the range that contains a key, or the number of ranges if the key is empty.
func (l ProfileList) Part(key string) int {
	ranges := l.KeyRanges()
	if i := slices.IndexFunc(ranges, func(r KeyRange) bool { return r.contains(key) }); key != "" && i >= 0 {
		return i
	}
	return len(ranges)
}

// Key returns the key by which the list sorts a profile. It is empty if the profile has none.
func (l ProfileList) Key(p Profile) string {
	switch {
	case l.Order == ByName:
		return NameKey(p.Pet.Name)
	case l.Order.ByPrice():
		return PriceKey(p.Price)
	case l.Order.ByAge():
		return p.BirthDate
	}
	return ""
}

// Compare returns a negative number if the list shows the first profile before the second one, and a positive one if it shows
// it after that.
func (l ProfileList) Compare(a, b Profile) int {
	return l.compareKeys(l.Key(a), a.Pet.ID, l.Key(b), b.Pet.ID)
}

func (l ProfileList) compareKeys(key string, id int64, otherKey string, otherID int64) int {
	if c := cmp.Compare(l.Part(key), l.Part(otherKey)); c != 0 {
		return c
	}
	c := cmp.Or(cmp.Compare(key, otherKey), cmp.Compare(id, otherID))
	if key == "" && l.Order != OldestFirst || l.Order.Descending() {
		return -c
	}
	return c
}

// fewAtOnce is the number of profiles that FewProfiles reads at once. For more than a few hundred, PostgreSQL might read a whole
// table of some thousand profiles.
const fewAtOnce = 200

// FewProfiles returns the profiles that a filter selects, newest first. If complete is false, there are more, because it
// reads at most about this many, and does the work for a limited number of pages.
func FewProfiles(tx ProfileReader, filter ProfileFilter, noTexts bool, most int) (found []Profile, complete bool, err error) {
	list := ProfileList{ProfileFilter: filter, PageRequest: PageRequest{Limit: fewAtOnce}, NoTexts: noTexts}
	for len(found) < most {
		page, err := tx.Profiles(list)
		if err != nil || !page.More {
			return append(found, page.Items...), true, err
		}
		if found = append(found, page.Items...); page.Stopped != nil {
			break
		}
		list.After = &found[len(found)-1].Pet.ID
	}
	return found, false, nil
}

// PageOf returns the page of the list if all contains every profile that the list selects, in any order.
func (l ProfileList) PageOf(all []Profile) Page[Profile] {
	slices.SortFunc(all, l.Compare)
	if l.After != nil {
		n, _ := slices.BinarySearchFunc(all, *l.After, func(p Profile, after int64) int {
			return cmp.Or(l.compareKeys(l.Key(p), p.Pet.ID, l.AfterKey, after), -1) // the item at the position was on the page before
		})
		all = all[n:]
	}
	if len(all) > l.Limit {
		return Page[Profile]{Items: all[:l.Limit], More: true}
	}
	return Page[Profile]{Items: all}
}
