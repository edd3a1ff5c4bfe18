package staff

import (
	"strconv"
	"time"

	"animalstore/internal/shop"
)

// holdExtension is a choice of how long a hold is extended.
type holdExtension struct {
	Days  int
	Label string
}

// holdExtensions are the choices on the pages.
var holdExtensions = []holdExtension{{1, "1 more day"}, {3, "3 more days"}, {7, "1 more week"}}

// extendHold extends the hold of an order by some days, unless the order has changed since the page was shown. The
// hold then ends at the same time of day as before.
func (p *Pages) extendHold(x *exchange) error {
	id, err := x.pathID()
	if err != nil {
		return err
	}
	days, err := strconv.Atoi(x.field("days"))
	if err != nil || days < 1 || days > 366 {
		return shop.Errorf(shop.InvalidParameter, "The number of days must be between 1 and 366.")
	}
	was, err := time.Parse(time.RFC3339Nano, x.field("was"))
	if err != nil {
		return errUnreadableForm()
	}
	until := was.In(p.Service.Location()).AddDate(0, 0, days)
	order, err := p.Service.UpdateOrder(x.context(), id, shop.OrderChange{HoldExpiresAt: &until},
		func(now shop.Order) bool { return now.HoldExpiresAt.Equal(was) })
	if err == nil {
		x.flash("The hold of order %d now ends on %s.", id, until.Format("2 January at 15:04"))
	}
	return x.showChangedOrder(id, order, err)
}
