package staff

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"animalstore/internal/shop"
)

// dashboardPage is the template data for the dashboard: the inventory, recent daily arrivals and sales, and
// the reservations that are about to expire.
type dashboardPage struct {
	Inventory        shop.Inventory
	Total            int64
	Categories       []categoryRow
	Largest          int64 // the number of animals in the largest category
	HiddenCategories int   // the number of categories that exceed maxDashboardCategories and are not shown
	Days             []shop.DayStats
	Chart            chart
	Holds            *shop.OrderPage // nil if the user lacks the scope orders:read
}

// chart holds three parallel lists with one element per day: the Unix time and the numbers of arrivals and
// sales.
type chart struct{ Times, Arrivals, Sales []int64 }

// maxDashboardCategories is the maximum number of categories on the dashboard. The dashboard shows the
// categories with the most animals.
const maxDashboardCategories = 12

func (p *Pages) dashboard(x *exchange) error {
	var page dashboardPage
	if x.May(shop.PetsRead) {
		if err := x.loadPetStats(&page); err != nil {
			return err
		}
	}
	if x.May(shop.OrdersRead) {
		holds, err := p.Service.ListExpiringHolds(x.r.Context(), 24*time.Hour)
		if err != nil {
			return err
		}
		page.Holds = &holds
	}
	return x.show(http.StatusOK, "dashboard", "Today", page)
}

func (x *exchange) loadPetStats(page *dashboardPage) (err error) {
	ctx := x.r.Context()
	if page.Inventory, err = x.Service.Inventory(ctx); err != nil {
		return err
	}
	page.Total = page.Inventory.Available + page.Inventory.Pending + page.Inventory.Sold + page.Inventory.Unspecified
	counts, err := x.petCounts()
	if err != nil {
		return err
	}
	for id, byStatus := range counts {
		page.Categories = append(page.Categories, categoryRow{shop.Category{ID: id}, byStatus})
		page.Largest = max(page.Largest, byStatus["all"])
	}
	slices.SortFunc(page.Categories, func(a, b categoryRow) int {
		return cmp.Or(cmp.Compare(b.Counts["all"], a.Counts["all"]), cmp.Compare(a.ID, b.ID))
	})
	if len(page.Categories) > maxDashboardCategories {
		page.HiddenCategories = len(page.Categories) - maxDashboardCategories
		page.Categories = page.Categories[:maxDashboardCategories]
	}
	var ids []int64
	for _, row := range page.Categories {
		ids = append(ids, row.ID)
	}
	names, err := x.Service.CategoriesByID(ctx, ids)
	if err != nil {
		return err
	}
	for i, row := range page.Categories {
		page.Categories[i].Name = names[row.ID].Name
	}
	if page.Days, err = x.Service.DailyStats(ctx); err != nil {
		return err
	}
	for _, day := range page.Days {
		page.Chart.Times = append(page.Chart.Times, day.Day.Unix())
		page.Chart.Arrivals = append(page.Chart.Arrivals, day.Arrivals)
		page.Chart.Sales = append(page.Chart.Sales, day.Sales)
	}
	return nil
}
