package staff

import (
	"net/url"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// activityQuery holds the filters of the activity page as they appear in its URL.
type activityQuery struct {
	Day, Person, Animal, Order, Kind string
	Problem                          string // what is wrong with the filters
}

// activityKind is a choice in the filter by kind of change.
type activityKind struct {
	Value, Label string
	types        []shop.EventType
}

// activityGroup is a group of choices under a common label.
type activityGroup struct {
	Label string
	Kinds []activityKind
}

// activityGroups returns the kinds of changes that an admin or, if admin is false, another user may see.
func activityGroups(admin bool) (groups []activityGroup) {
	for _, group := range []struct {
		label, all string
		types      []shop.EventType
		labels     []string
	}{
		{"Animals", "animals", []shop.EventType{shop.PetCreated, shop.PetUpdated, shop.PetDeleted, shop.PetRestored}, []string{"Added", "Changed", "Removed", "Restored"}},
		{"Orders", "orders", []shop.EventType{shop.OrderPlaced, shop.OrderUpdated, shop.OrderApproved, shop.OrderDelivered, shop.OrderCancelled, shop.OrderExpired},
			[]string{"Reserved", "Changed", "Approved", "Handed over", "Cancelled", "Expired"}},
		{"Categories", "categories", []shop.EventType{shop.CategoryCreated, shop.CategoryUpdated, shop.CategoryDeleted}, []string{"Added", "Renamed", "Removed"}},
		{"People", "keys", []shop.EventType{shop.KeyCreated, shop.KeyRotated, shop.KeyRevoked}, []string{"Added", "New secret", "Access removed"}},
		{"Webhooks", "webhooks", []shop.EventType{shop.WebhookCreated, shop.WebhookUpdated, shop.WebhookDeleted}, []string{"Added", "Changed", "Removed"}},
		{"Settings", "settings", []shop.EventType{shop.StoreUpdated}, []string{"Changed"}},
	} {
		if !admin && !group.types[0].IsPublic() {
			continue
		}
		kinds := []activityKind{{group.all, "All " + strings.ToLower(group.label), group.types}}
		for i, kind := range group.types {
			kinds = append(kinds, activityKind{string(kind), group.label + ": " + group.labels[i], []shop.EventType{kind}})
		}
		groups = append(groups, activityGroup{group.label, kinds})
	}
	return groups
}

// parseActivityQuery parses the filters in the URL. If one of them is invalid, it describes the mistake in Problem,
// and the caller must not use the filter.
func (x *exchange) parseActivityQuery() (q activityQuery, filter shop.ActivityFilter) {
	values := x.r.URL.Query()
	q = activityQuery{Day: values.Get("day"), Person: values.Get("person"), Animal: values.Get("animal"), Order: values.Get("order"), Kind: values.Get("kind")}
	if q.Day != "" {
		if day, err := shop.ParseDate(q.Day); err != nil {
			q.Problem = "The day must be a date such as 2026-03-29."
		} else {
			filter.Since, filter.Until = x.Service.DayBounds(day)
		}
	}
	if q.Person != "" {
		if reason := shop.ActorProblem(q.Person); reason != "" {
			q.Problem = "The person " + reason + "."
		}
		filter.Actor = q.Person
	}
	number := func(text, what string) *int64 {
		if text == "" {
			return nil
		}
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			q.Problem = "The number of the " + what + " must be a whole number."
		}
		return &id
	}
	filter.PetID, filter.OrderID = number(q.Animal, "animal"), number(q.Order, "order")
	if q.Kind != "" {
		for _, group := range activityGroups(x.May(shop.Admin)) {
			for _, kind := range group.Kinds {
				if kind.Value == q.Kind {
					filter.Types = kind.types
				}
			}
		}
		if filter.Types == nil {
			q.Problem = "There is no such kind of change, or you may not see it."
		}
	}
	return q, filter
}

// IsFiltered reports whether any filter is set.
func (q activityQuery) IsFiltered() bool {
	return q.Day != "" || q.Person != "" || q.Animal != "" || q.Order != "" || q.Kind != ""
}

// Path returns the path of the activity page with these filters.
func (q activityQuery) Path() string { return "/staff/activity" + q.encode("") }

// CSV returns the path of the CSV file with these filters.
func (q activityQuery) CSV() string { return "/staff/activity.csv" + q.encode("") }

// Before returns the path of the page with the changes before the event at the given position.
func (q activityQuery) Before(position int64) string {
	return "/staff/activity" + q.encode(strconv.FormatInt(position, 10))
}

// On returns the path of the activity page with the same filters, but for another day.
func (q activityQuery) On(day string) string {
	q.Day = day
	return q.Path()
}

// By returns the path of the activity page with the same filters, but for another person.
func (q activityQuery) By(person string) string {
	q.Person = person
	return q.Path()
}

// encode returns the filters as a query string, or "" if there are none. The parameter before is the position at which
// the page begins, or "" for the first page.
func (q activityQuery) encode(before string) string {
	values := url.Values{}
	for name, value := range map[string]string{"day": q.Day, "person": q.Person, "animal": q.Animal, "order": q.Order, "kind": q.Kind, "from": before} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}
