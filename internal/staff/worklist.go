package staff

import (
	"animalstore/internal/shop"
)

const (
	// workListSize is the maximum number of orders in each list of the work list. A link leads to the other orders.
	workListSize = 10
	// withoutPhotoSize is the maximum number of animals without a photo that are shown with the work list.
	withoutPhotoSize = 6
	// recentChanges is the maximum number of lines about changes that are shown with the work list.
	recentChanges = 12
)

// workList is the template data for the orders to work on and the changes since yesterday.
type workList struct {
	Today   shop.Date
	Orders  *shop.WorkList // nil if the user lacks the orders:read scope
	Recent  []activityDay
	MoreNew bool // whether there are more changes since yesterday than Recent holds
	// WithoutPhoto are available animals without a photo. It is nil if the user may not add photos.
	WithoutPhoto *shop.Page[shop.Pet]
}

// printedDays is the number of days whose hand-overs the Today page offers to print.
const printedDays = 8

// workDay is a day in words, such as Saturday.
type workDay struct {
	Date  shop.Date
	Label string
}

// Days returns today and the days after it.
func (w workList) Days() []workDay {
	days := make([]workDay, printedDays)
	for i := range days {
		date := w.Today.Add(i)
		days[i] = workDay{date, date.UTC().Weekday().String()}
	}
	days[0].Label, days[1].Label = "Today", "Tomorrow"
	return days
}

func (x *exchange) loadWorkList() (work workList, err error) {
	work.Today = x.Service.Today()
	if x.May(shop.OrdersRead) {
		orders, err := x.Service.WorkList(x.r.Context(), x.caller(), workListSize)
		if err != nil {
			return work, err
		}
		work.Orders = &orders
	}
	if x.May(shop.PetsRead) && x.May(shop.PetsWrite) {
		pets, err := x.Service.WithoutPhoto(x.r.Context(), withoutPhotoSize)
		if err != nil {
			return work, err
		}
		work.WithoutPhoto = &pets
	}
	if !x.May(shop.EventsRead) {
		return work, nil
	}
	filter := shop.ActivityFilter{}
	filter.Since, _ = x.Service.DayBounds(work.Today.Add(-1))
	page, err := x.loadActivity(filter, shop.PageRequest{Limit: pageSize})
	lines := 0
	for i, day := range page.Days {
		shown := min(len(day.Entries), recentChanges-lines)
		page.More = page.More || shown < len(day.Entries)
		page.Days[i].Entries = day.Entries[:shown]
		lines += shown
		if shown > 0 {
			work.Recent = append(work.Recent, page.Days[i])
		}
	}
	work.MoreNew = page.More
	return work, err
}

// showWorkList responds with the work list after a change to an order.
func (x *exchange) showWorkList() error {
	if !x.partial() {
		return x.redirect("/")
	}
	work, err := x.loadWorkList()
	if err != nil {
		return err
	}
	return x.showFragment("worklist", work)
}
