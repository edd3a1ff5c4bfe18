package staff

import (
	"net/http"

	"animalstore/internal/shop"
)

// dashboardPage is the template data for the dashboard: the work list, the inventory, and recent daily arrivals and
// sales.
type dashboardPage struct {
	Inventory  shop.Inventory
	Total      int64
	Categories []categoryRow // the categories with the most animals
	Largest    int64         // the number of animals in the largest category
	Others     int64         // the number of animals in categories that are not shown
	Days       []shop.DayStats
	Chart      chart
	Work       workList
	Empty      bool // whether there have never been animals, so that there is nothing to show
}

func (p *Pages) dashboard(x *exchange) error {
	var page dashboardPage
	var err error
	if page.Work, err = x.loadWorkList(); err != nil {
		return err
	}
	if x.May(shop.PetsRead) {
		if err := x.loadPetStats(&page); err != nil {
			return err
		}
	}
	if x.May(shop.PetsRead) && page.Total == 0 {
		orders, err := x.Service.ListOrders(x.r.Context(), x.caller(), shop.OrderList{PageRequest: shop.PageRequest{Limit: 1}})
		if err != nil {
			return err
		}
		page.Empty = len(orders.Items) == 0
	}
	return x.show(http.StatusOK, "dashboard", "Today", page)
}

func (x *exchange) loadPetStats(page *dashboardPage) (err error) {
	ctx := x.r.Context()
	if page.Inventory, err = x.Service.Inventory(ctx); err != nil {
		return err
	}
	page.Total = page.Inventory.Total()
	largest, err := x.Service.LargestCategories(ctx)
	if err != nil {
		return err
	}
	page.Others = largest.Others
	var ids []int64
	for _, count := range largest.Counts {
		page.Categories = append(page.Categories, categoryRow{shop.Category{ID: count.CategoryID}, count.Inventory})
		page.Largest = max(page.Largest, count.Total())
		ids = append(ids, count.CategoryID)
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
	page.Chart = x.newChart(page.Days)
	return nil
}
