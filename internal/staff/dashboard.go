package staff

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"animalstore/internal/shop"
)

// dashboard is what the first page shows: what there is, what came and went, and what is about to run out.
type dashboard struct {
	Inventory  shop.Inventory
	Total      int64
	Categories []categoryRow
	Most       int64 // animals in one category
	Others     int   // categories that are not shown
	Days       []shop.DayStats
	Plot       plot
	Holds      *shop.OrderPage // nil: who looks may not see orders
}

// plot is what is drawn: a time, arrivals and sales for each day.
type plot struct{ Times, Arrivals, Sales []int64 }

// shownCategories is how many categories the first page shows: those with the most animals.
const shownCategories = 12

func (p *Pages) today(v *visit) error {
	var made dashboard
	if v.May(shop.PetsRead) {
		if err := v.countAnimals(&made); err != nil {
			return err
		}
	}
	if v.May(shop.OrdersRead) {
		holds, err := p.Service.ListExpiringHolds(v.r.Context(), 24*time.Hour)
		if err != nil {
			return err
		}
		made.Holds = &holds
	}
	return v.show(http.StatusOK, "dashboard", "Today", made)
}

func (v *visit) countAnimals(made *dashboard) (err error) {
	ctx := v.r.Context()
	if made.Inventory, err = v.Service.Inventory(ctx); err != nil {
		return err
	}
	made.Total = made.Inventory.Available + made.Inventory.Pending + made.Inventory.Sold + made.Inventory.Unspecified
	counts, err := v.Service.CountPets(ctx)
	if err != nil {
		return err
	}
	rows := map[int64]*categoryRow{}
	for _, count := range counts {
		if rows[count.CategoryID] == nil {
			rows[count.CategoryID] = &categoryRow{shop.Category{ID: count.CategoryID}, map[string]int64{}}
		}
		rows[count.CategoryID].Counts["all"] += count.N
		rows[count.CategoryID].Counts[string(count.Status)] += count.N
	}
	for _, row := range rows {
		made.Categories = append(made.Categories, *row)
		made.Most = max(made.Most, row.Counts["all"])
	}
	slices.SortFunc(made.Categories, func(a, b categoryRow) int {
		return cmp.Or(cmp.Compare(b.Counts["all"], a.Counts["all"]), cmp.Compare(a.ID, b.ID))
	})
	if len(made.Categories) > shownCategories {
		made.Others = len(made.Categories) - shownCategories
		made.Categories = made.Categories[:shownCategories]
	}
	var ids []int64
	for _, row := range made.Categories {
		ids = append(ids, row.ID)
	}
	names, err := v.Service.CategoriesByID(ctx, ids)
	if err != nil {
		return err
	}
	for i, row := range made.Categories {
		made.Categories[i].Name = names[row.ID].Name
	}
	if made.Days, err = v.Service.DailyStats(ctx); err != nil {
		return err
	}
	for _, day := range made.Days {
		made.Plot.Times = append(made.Plot.Times, day.Day.Unix())
		made.Plot.Arrivals = append(made.Plot.Arrivals, day.Arrivals)
		made.Plot.Sales = append(made.Plot.Sales, day.Sales)
	}
	return nil
}
