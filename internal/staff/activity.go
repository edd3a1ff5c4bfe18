package staff

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"animalstore/internal/petcsv"
	"animalstore/internal/shop"
)

const (
	// maxActivityReads is the maximum number of times that the events are read for one page. A filter that few
	// events match may need several reads.
	maxActivityReads = 5
	// maxPeople is the maximum number of keys that an admin can choose from in the filter by person.
	maxPeople = 200
	// exportedAtOnce is the number of events in one chunk of an exported file, and maxExportReads is the maximum
	// number of chunks.
	exportedAtOnce = 500
	maxExportReads = 400
)

// activityPage is the template data for the activity page.
type activityPage struct {
	Query            activityQuery
	Days             []activityDay
	More             bool
	next             int64 // the next page shows the events before this position; set if More is true
	NotFirst         bool  // whether this is not the first page
	Groups           []activityGroup
	People           []person
	Today, Yesterday shop.Date
}

// NextURL returns the path of the next page, or "" if this is the last one.
func (p activityPage) NextURL() string {
	if !p.More {
		return ""
	}
	return p.Query.Before(p.next)
}

// activityDay holds the changes of one day in the shop's time zone, newest first.
type activityDay struct {
	Day     shop.Date
	Label   string // Today, Yesterday or ""
	Entries []activityEntry
}

// person is a choice in the filter by person: an actor, such as keys/3, and the name that is shown for it.
type person struct{ Actor, Name string }

// actorName returns a readable name for the person or program that caused an event.
func actorName(actor string, names map[string]string) string {
	if name := names[actor]; name != "" {
		return name
	}
	switch id, isKey := strings.CutPrefix(actor, "keys/"); {
	case isKey:
		return fmt.Sprintf("Person %s (no access)", id)
	case actor == "system":
		return "System"
	case actor == "configured":
		return configuredName
	}
	return actor
}

func (p *Pages) activity(x *exchange) error {
	query, filter := x.parseActivityQuery()
	request := x.pageRequest()
	page := activityPage{}
	if query.Problem == "" {
		var err error
		if page, err = x.loadActivity(filter, request); err != nil {
			return err
		}
	}
	page.Query, page.NotFirst, page.Groups = query, request.After != nil, activityGroups(x.May(shop.Admin))
	page.Today = p.Service.Today()
	page.Yesterday = page.Today.Add(-1)
	var err error
	if page.People, err = x.peopleToFilter(page); err != nil {
		return err
	}
	return x.show(http.StatusOK, "activity", "Activity", page)
}

// loadActivity reads one page of changes and describes them.
func (x *exchange) loadActivity(filter shop.ActivityFilter, request shop.PageRequest) (page activityPage, err error) {
	entries, more, next, err := x.readActivity(x.r.Context(), filter, request)
	if err != nil {
		return page, err
	}
	page.More, page.next = more, next
	today := x.Service.Today()
	for _, entry := range entries {
		day := x.Service.DateOf(entry.At)
		if n := len(page.Days); n == 0 || page.Days[n-1].Day != day {
			label := map[shop.Date]string{today: "Today", today.Add(-1): "Yesterday"}[day]
			page.Days = append(page.Days, activityDay{Day: day, Label: label})
		}
		last := &page.Days[len(page.Days)-1]
		last.Entries = append(last.Entries, entry)
	}
	for i := range page.Days {
		page.Days[i].Entries = groupAlike(page.Days[i].Entries)
	}
	return page, nil
}

// readActivity returns changes that match a filter, newest first. If more is true, the next page shows the events
// before position next. Users who are not admins see only changes of animals, orders and categories.
func (x *exchange) readActivity(ctx context.Context, filter shop.ActivityFilter, request shop.PageRequest) (entries []activityEntry, more bool, next int64, err error) {
	filter.Public = !x.May(shop.Admin)
	var events []shop.Event
	limit := request.Limit
	// Read one more event, because the last event of this page and the first event of the next page may belong to the
	// same order step.
	request.Limit++
	for reads := 1; ; reads++ {
		page, err := x.Service.ListActivity(ctx, x.caller(), filter, request)
		if err != nil {
			return nil, false, 0, err
		}
		events = append(events, page.Items...)
		if more = page.More; more {
			next = page.Next(shop.Event.Position)
		}
		if !more || len(events) > limit || reads == maxActivityReads {
			break
		}
		request.After = &next
		request.Limit = limit + 1 - len(events)
	}
	changes := joinSteps(events)
	if len(events) > limit {
		more, next = true, events[limit-1].Position()
		if last := changes[len(changes)-1]; last.Position() == events[limit].Position() {
			if last.petNow != nil { // the step's other event is on this page, so the whole step is shown here
				next = last.Position()
			} else {
				changes = changes[:len(changes)-1]
			}
		}
	}
	names, err := x.loadActivityNames(changes)
	for _, change := range changes {
		entries = append(entries, names.describe(change))
	}
	return entries, more, next, err
}

// peopleToFilter returns the choices for the filter by person. Only admins may list keys. Other users can choose themselves,
// the system, the person who is already selected and the people whose changes the page shows.
func (x *exchange) peopleToFilter(page activityPage) ([]person, error) {
	names := map[string]string{x.principal.Actor(): personName(x.principal.ID(), x.principal.Name()), "system": "System"}
	if selected := page.Query.Person; selected != "" && page.Query.Problem == "" {
		known, err := x.Service.KeyNames(x.r.Context(), []string{selected})
		if err != nil {
			return nil, err
		}
		names[selected] = actorName(selected, known)
	}
	for _, day := range page.Days {
		for _, entry := range day.Entries {
			if entry.Person != "" {
				names[entry.Actor] = entry.Person
			}
		}
	}
	if x.May(shop.Admin) {
		keys, err := x.Service.ListKeys(x.r.Context(), shop.PageRequest{Limit: maxPeople})
		if err != nil {
			return nil, err
		}
		for _, key := range keys.Items {
			names["keys/"+strconv.FormatInt(key.ID, 10)] = key.Name
		}
	}
	var people []person
	for actor, name := range names {
		people = append(people, person{actor, name})
	}
	slices.SortFunc(people, func(a, b person) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Actor, b.Actor)) })
	return people, nil
}

// exportActivity streams the changes that match the filters as a CSV file, newest first.
func (p *Pages) exportActivity(x *exchange) error {
	query, filter := x.parseActivityQuery()
	if query.Problem != "" {
		return shop.Errorf(shop.InvalidParameter, "%s", query.Problem)
	}
	header := petcsv.AppendRow(nil, "time", "person", "change", "animal", "name", "order", "customer", "status before", "status after")
	return x.streamCSV("activity.csv", header, func(ctx context.Context, send func([]byte) error) error {
		request := shop.PageRequest{Limit: exportedAtOnce}
		for range maxExportReads {
			entries, more, next, err := x.readActivity(ctx, filter, request)
			if err != nil {
				return err
			}
			var chunk []byte
			for _, entry := range entries {
				chunk = petcsv.AppendRow(chunk, p.activityCells(entry)...)
			}
			if err := send(chunk); err != nil || !more {
				return err
			}
			request.After = &next
		}
		return send(petcsv.AppendRow(nil, "", "", "This file is not complete: there are too many changes. Select a day."))
	})
}

// activityCells returns the cells of the row for a change in a CSV file.
func (p *Pages) activityCells(e activityEntry) []string {
	number := func(id int64) string {
		if id == 0 {
			return ""
		}
		return strconv.FormatInt(id, 10)
	}
	return []string{e.At.In(p.Service.Location()).Format(time.RFC3339), e.Person, e.Sentence(), number(e.PetID), e.Pet, number(e.OrderID), e.Customer, e.From, e.To}
}
