package staff

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// petQuery holds the catalogue's filters as they were entered in the form.
type petQuery struct {
	Text      string // words of names, breeds, colours and tags and, for those who may see them, of microchips and locations
	Status    string
	Category  string
	Sex       string
	Size      string
	Tags      string // separated by commas
	Published string // "yes" or "no"
	Photo     string // noPhoto, or "" for all
	Order     shop.ProfileOrder
	IDs       []int64 // if not empty, the list shows only these animals
	Problem   string
}

// noPhoto is the value of the parameter photo that selects the animals without photos.
const noPhoto = "none"

// parsePetQuery reads the filters from a query string. It ignores an invalid filter and describes the mistake
// in Problem.
func parsePetQuery(values url.Values) (petQuery, shop.ProfileFilter) {
	value := func(name string) string { return strings.TrimSpace(values.Get(name)) }
	q := petQuery{
		Text: value("name"), Status: values.Get("status"), Category: value("category"), Sex: value("sex"), Size: value("size"),
		Tags: strings.Join(splitTags(value("tag")), ", "), Published: value("published"), Photo: value("photo"),
	}
	if order := shop.ProfileOrder(values.Get("sort")); slices.Contains(shop.ProfileOrders(), order) {
		q.Order = order
	}
	var filter shop.ProfileFilter
	if q.Text != "" {
		if reason := shop.TextProblem(q.Text); reason != "" {
			q.Problem = "The text " + reason + "."
		} else {
			filter.Query = q.Text
		}
	}
	if q.Status == noStatus {
		filter.NoStatus = true
	} else if q.Status != "" {
		if reason := shop.StatusProblem(q.Status); reason != "" {
			q.Problem = "The status " + reason + "."
		} else {
			filter.Status = shop.Status(q.Status)
		}
	}
	if q.Category != "" {
		if id, err := strconv.ParseInt(q.Category, 10, 64); err != nil {
			q.Problem = "The category must be a number."
		} else {
			filter.CategoryID = &id
		}
	}
	q.parseProfile(&filter)
	for _, text := range values["id"] {
		if id, err := strconv.ParseInt(text, 10, 64); err == nil && len(q.IDs) < maxBulk {
			q.IDs = append(q.IDs, id)
		}
	}
	filter.IDs = q.IDs
	return q, filter
}

// parseProfile adds the conditions on profiles to a filter.
func (q *petQuery) parseProfile(filter *shop.ProfileFilter) {
	check := func(name, value string, problem func(string) string) bool {
		if value == "" {
			return false
		}
		reason := problem(value)
		if reason != "" {
			q.Problem = "The " + name + " " + reason + "."
		}
		return reason == ""
	}
	if check("sex", q.Sex, shop.SexProblem) {
		filter.Sex = shop.Sex(q.Sex)
	}
	if check("size", q.Size, shop.SizeProblem) {
		filter.Size = shop.Size(q.Size)
	}
	for i, tag := range splitTags(q.Tags) {
		if i == shop.MaxTags {
			q.Problem = fmt.Sprintf("There can be at most %d tags.", shop.MaxTags)
			break
		}
		if check("tag", tag, shop.TagProblem) {
			filter.Tags = append(filter.Tags, tag)
		}
	}
	switch q.Published {
	case "":
	case "yes", "no":
		filter.Published = new(q.Published == "yes")
	default:
		q.Problem = "Published must be yes or no."
	}
	switch q.Photo {
	case "":
	case noPhoto:
		filter.NoPhotos = true
	default:
		q.Problem = "The list can only be limited to animals without a photo."
	}
}

// petQuery reads the filters from the address. In addition to parsePetQuery, it accepts the name of a category. The text is
// looked for in internal members if the user may see them.
func (x *exchange) petQuery() (petQuery, shop.ProfileFilter, error) {
	values, problem := x.r.URL.Query(), ""
	text := strings.TrimSpace(values.Get("category"))
	if _, err := strconv.ParseInt(text, 10, 64); text != "" && err != nil {
		id, err := x.resolveCategory(text)
		if values.Del("category"); err == nil {
			values.Set("category", strconv.FormatInt(id, 10))
			text = ""
		} else if problem = userMessage(err); problem == "" {
			return petQuery{}, shop.ProfileFilter{}, err
		}
	} else {
		text = ""
	}
	query, filter := parsePetQuery(values)
	if problem != "" {
		query.Category, query.Problem = text, problem
	}
	filter.Internal = x.May(shop.PetsWrite)
	return query, filter, nil
}

// params returns the parameters of the query, without those of the position in the list.
func (q petQuery) params() url.Values {
	values := url.Values{}
	for name, value := range map[string]string{
		"name": q.Text, "status": q.Status, "category": q.Category, "sex": q.Sex, "size": q.Size, "tag": q.Tags, "published": q.Published,
		"photo": q.Photo, "sort": string(q.Order),
	} {
		if value != "" {
			values.Set(name, value)
		}
	}
	for _, id := range q.IDs {
		values.Add("id", strconv.FormatInt(id, 10))
	}
	return values
}

// Path returns the path of the first page with these filters.
func (q petQuery) Path() string { return "/staff/pets?" + q.params().Encode() }

// Next returns the path of the page that begins after a position. The path keeps the filters.
func (q petQuery) Next(after petPosition) string {
	values := q.params()
	values.Set("from", strconv.FormatInt(after.ID, 10))
	if after.Key != "" {
		values.Set("at", after.Key)
	}
	return "/staff/pets?" + values.Encode()
}

// petPosition is a position in the list of animals: the key by which it is sorted, and the id of an animal.
type petPosition struct {
	Key string
	ID  int64
}

// petRequest returns the request for one page of the catalogue. It begins after the position in the parameters from and at.
func (x *exchange) petRequest() shop.PageRequest {
	request := x.pageRequest()
	key := x.r.URL.Query().Get("at")
	if key != "" && shop.TextProblem(key) != "" {
		return shop.PageRequest{Limit: pageSize}
	}
	request.AfterKey = key
	return request
}

// petChoice is a value of a filter or of the order.
type petChoice struct{ Value, Label string }

// Orders returns the orders of the list.
func (petQuery) Orders() []petChoice {
	return []petChoice{
		{string(shop.NewestFirst), "Newest first"}, {string(shop.OldestFirst), "Oldest first"}, {string(shop.ByName), "Name"},
		{string(shop.CheapestFirst), "Price, lowest first"}, {string(shop.DearestFirst), "Price, highest first"},
		{string(shop.YoungestFirst), "Age, youngest first"}, {string(shop.EldestFirst), "Age, oldest first"},
	}
}

// OrderLabel returns the order of the list in words.
func (q petQuery) OrderLabel() string {
	return labelOf(q.Orders(), string(q.Order))
}

func labelOf(choices []petChoice, value string) string {
	i := slices.IndexFunc(choices, func(c petChoice) bool { return c.Value == value })
	return choices[max(i, 0)].Label
}

// petSelect is a filter with a few values.
type petSelect struct {
	Name, Label, Value string
	Choices            []petChoice
}

// Selects returns the filters on profiles that have a few values. The first choice of each selects all animals.
func (q petQuery) Selects() []petSelect {
	sexes, sizes := []petChoice{{"", "Any"}}, []petChoice{{"", "Any"}}
	for _, sex := range shop.Sexes() {
		sexes = append(sexes, petChoice{string(sex), capitalized(string(sex))})
	}
	for _, size := range shop.Sizes() {
		sizes = append(sizes, petChoice{string(size), capitalized(string(size))})
	}
	return []petSelect{
		{"sex", "Sex", q.Sex, sexes},
		{"size", "Size", q.Size, sizes},
		{"published", "Published", q.Published, []petChoice{{"", "Any"}, {"yes", "Published"}, {"no", "Not published"}}},
		{"photo", "Photos", q.Photo, []petChoice{{"", "Any"}, {noPhoto, "Without a photo"}}},
	}
}

// petChip is a filter that is active, with the path of the list without it.
type petChip struct{ Label, Path string }

// chips returns the filters that are active, except for the status, which the tabs show. category is the name of the selected
// category.
func (q petQuery) chips(category string) (chips []petChip) {
	if q.Problem != "" {
		return nil
	}
	add := func(label string, clear func(*petQuery)) {
		without := q
		clear(&without)
		chips = append(chips, petChip{label, without.Path()})
	}
	if q.Text != "" {
		add("“"+q.Text+"”", func(q *petQuery) { q.Text = "" })
	}
	if q.Category != "" {
		add(category, func(q *petQuery) { q.Category = "" })
	}
	clear := map[string]func(*petQuery){
		"sex": func(q *petQuery) { q.Sex = "" }, "size": func(q *petQuery) { q.Size = "" },
		"published": func(q *petQuery) { q.Published = "" }, "photo": func(q *petQuery) { q.Photo = "" },
	}
	for _, s := range q.Selects() {
		if s.Value != "" {
			add(labelOf(s.Choices, s.Value), clear[s.Name])
		}
	}
	tags := splitTags(q.Tags)
	for i, tag := range tags {
		add("Tag: "+tag, func(q *petQuery) { q.Tags = strings.Join(slices.Delete(slices.Clone(tags), i, i+1), ", ") })
	}
	return chips
}

// Cleared returns the path of the list with only the status and the order.
func (q petQuery) Cleared() string { return petQuery{Status: q.Status, Order: q.Order}.Path() }

// Profiled returns the number of active filters on profiles.
func (q petQuery) Profiled() (n int) {
	for _, s := range q.Selects() {
		if s.Value != "" {
			n++
		}
	}
	return n + len(splitTags(q.Tags))
}

// Filtered reports whether any filter is active.
func (q petQuery) Filtered() bool {
	return q.Text != "" || q.Status != "" || q.Category != "" || q.Profiled() > 0 || len(q.IDs) > 0
}

// petCounts is the number of animals in each tab of the list. If AtLeast is set, there may be more.
type petCounts struct {
	All, Available, Pending, Sold, None int64
	AtLeast                             bool
}

// petCounts counts the animals that match all filters but the status, by status. It counts a limited number of animals, unless
// there is no filter but the category. It returns nil for a selection, which is not counted, and if the service is too busy.
func (x *exchange) petCounts(filter shop.ProfileFilter) (*petCounts, error) {
	if len(filter.IDs) > 0 {
		return nil, nil
	}
	other := filter
	other.Status, other.NoStatus, other.CategoryID = "", false, nil
	n, complete, err := shop.Inventory{}, true, error(nil)
	switch id := filter.CategoryID; {
	case other.Query != "" || other.Conditions() > 0:
		n, complete, err = x.Service.CountPetViews(x.r.Context(), x.caller(), filter)
	case id == nil:
		n, err = x.Service.Inventory(x.r.Context())
	default:
		var counts map[int64]shop.Inventory
		counts, err = x.Service.CountCategories(x.r.Context(), []int64{*id})
		n = counts[*id]
	}
	if err != nil {
		if code := shop.AsError(err).Code; code == shop.RateLimited || code == shop.Unavailable {
			return nil, nil // the list can be shown without the numbers
		}
		return nil, err
	}
	return &petCounts{n.Total(), n.Available, n.Pending, n.Sold, n.Unspecified, !complete}, nil
}

// petTab is a choice in the list's filter by status.
type petTab struct {
	Value, Label, ID string
	Checked          bool
	Count            int64
	Counted          bool // whether the animals were counted
	AtLeast          bool // whether there may be more
}

// Tabs returns the choices for the status, with the number of animals for each.
func (p petsPage) Tabs() []petTab {
	tabs := []petTab{
		{Value: "", Label: "All", ID: "all"}, {Value: "available", Label: "Available", ID: "available"},
		{Value: "pending", Label: "Reserved", ID: "pending"}, {Value: "sold", Label: "Sold", ID: "sold"},
		{Value: noStatus, Label: "No status", ID: noStatus},
	}
	for i := range tabs {
		tabs[i].Checked = tabs[i].Value == p.Query.Status
		if c := p.Counts; c != nil {
			tabs[i].Count, tabs[i].Counted, tabs[i].AtLeast = []int64{c.All, c.Available, c.Pending, c.Sold, c.None}[i], true, c.AtLeast
		}
	}
	return tabs
}

// countPets responds with the current numbers for the tabs.
func (p *Pages) countPets(x *exchange) error {
	query, filter, err := x.petQuery()
	if err != nil {
		return err
	}
	page := petsPage{Query: query}
	if page.Counts, err = x.petCounts(filter); err != nil {
		return err
	}
	return x.showFragment("pet-counts", page)
}
