package staff

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// pageLength is how many things a page lists before it asks for more.
const pageLength = 50

// mostChoices is how many categories can be chosen from a list; where there are more, people write the number.
const mostChoices = 200

// petQuery is what the catalogue is narrowed by, as its form sends it.
type petQuery struct {
	Name     string
	Status   string
	Category string
	Problem  string
}

// readPetQuery reads the filters; what makes no sense is said and left out.
func readPetQuery(values url.Values) (petQuery, shop.PetFilter) {
	q := petQuery{Name: strings.TrimSpace(values.Get("name")), Status: values.Get("status"), Category: strings.TrimSpace(values.Get("category"))}
	var filter shop.PetFilter
	if q.Name != "" {
		if reason := shop.TextProblem(q.Name); reason != "" {
			q.Problem = "The name " + reason + "."
		} else {
			filter.Query = q.Name
		}
	}
	if q.Status != "" {
		if reason := shop.StatusProblem(q.Status); reason != "" {
			q.Problem = "The status " + reason + "."
		} else {
			filter.Status = shop.Status(q.Status)
		}
	}
	if q.Category != "" {
		if id, err := strconv.ParseInt(q.Category, 10, 64); err != nil {
			q.Problem = "The category must be the number of one."
		} else {
			filter.CategoryID = &id
		}
	}
	return q, filter
}

// Next is the address of the page after an animal, with the same filters.
func (q petQuery) Next(from int64) string {
	return q.path(url.Values{"from": {strconv.FormatInt(from, 10)}})
}

// Path is the address of the first page.
func (q petQuery) Path() string { return q.path(url.Values{}) }

func (q petQuery) path(values url.Values) string {
	for name, value := range map[string]string{"name": q.Name, "status": q.Status, "category": q.Category} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return "/staff/pets?" + values.Encode()
}

// catalogue is what the page of the animals shows.
type catalogue struct {
	Query   petQuery
	Rows    []shop.PetView
	More    int64 // the last animal of the page, where others follow; 0: none
	Newest  int64 // the first animal of the first page
	Later   bool  // it is not the first page, or not the first rows any more
	Choices choices
	Add     petForm
}

// choices are the categories to choose from.
type choices struct {
	Categories []shop.Category
	TooMany    bool
}

func (v *visit) choices() (choices, error) {
	page, err := v.Service.ListCategories(v.r.Context(), shop.PageRequest{Limit: mostChoices})
	return choices{page.Items, page.More}, err
}

// Has tells whether a category can be chosen.
func (c choices) Has(id string) bool {
	for _, category := range c.Categories {
		if strconv.FormatInt(category.ID, 10) == id {
			return true
		}
	}
	return id == ""
}

func (p *Pages) pets(v *visit) error {
	query, filter := readPetQuery(v.r.URL.Query())
	list := shop.PetList{PetFilter: filter, PageRequest: shop.PageRequest{Limit: pageLength}}
	if from, err := strconv.ParseInt(v.r.URL.Query().Get("from"), 10, 64); err == nil {
		list.After = &from
	}
	page, err := p.Service.ListPetViews(v.r.Context(), list)
	if err != nil {
		return err
	}
	shown := catalogue{Query: query, Rows: page.Items, Later: list.After != nil}
	if page.More {
		shown.More = page.Items[len(page.Items)-1].ID
	}
	if len(page.Items) > 0 && list.After == nil {
		shown.Newest = page.Items[0].ID
	}
	if v.partial() && list.After != nil { // the next rows of a page that is there
		return v.showPart("pet-rows", shown)
	}
	if shown.Choices, err = v.choices(); err != nil {
		return err
	}
	shown.Add.Choices = shown.Choices
	return v.show(http.StatusOK, "pets", "Animals", shown)
}

// freshPets answers with the animals that came after the newest one on the page.
func (p *Pages) freshPets(v *visit) error {
	query, filter := readPetQuery(v.r.URL.Query())
	page, err := p.Service.ListPetViews(v.r.Context(), shop.PetList{PetFilter: filter, PageRequest: shop.PageRequest{Limit: pageLength}})
	if err != nil {
		return err
	}
	newest, _ := strconv.ParseInt(v.r.URL.Query().Get("newest"), 10, 64) // none: there was no animal
	shown := catalogue{Query: query, Newest: newest}
	for _, listing := range page.Items {
		if listing.ID > newest {
			shown.Rows = append(shown.Rows, listing)
			shown.Newest = max(shown.Newest, listing.ID)
		}
	}
	if len(shown.Rows) == pageLength && page.More { // more than a page has come: what is between is not shown
		shown.Rows, shown.Later = nil, true
	}
	return v.showPart("pet-fresh", shown)
}
