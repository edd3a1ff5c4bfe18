package staff

import (
	"fmt"
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
// hold then ends at the same time of day as before. With the field "until", it undoes that.
func (p *Pages) extendHold(x *exchange) error {
	id, err := x.pathID()
	if err != nil {
		return err
	}
	was, err := time.Parse(time.RFC3339Nano, x.field("was"))
	if err != nil {
		return errUnreadableForm()
	}
	until, undoes, err := x.newEndOfHold(was)
	if err != nil {
		return err
	}
	order, err := p.Service.UpdateOrder(x.context(), id, shop.OrderChange{HoldExpiresAt: &until},
		func(now shop.Order) bool { return now.HoldExpiresAt.Equal(was) })
	if undoes {
		if err == nil {
			x.flash("The hold of order %d ends on %s again.", id, until.Format("2 January at 15:04"))
		}
		return x.finishInPlace(undoError(err, fmt.Sprint("order ", id)), orderPath(id), orderTopic(id))
	}
	if err == nil {
		back := &undo{orderPath(id) + "/hold", map[string]string{"was": formatHold(until), "until": formatHold(was)}}
		x.flashUndo(back, "The hold of order %d now ends on %s.", id, until.Format("2 January at 15:04"))
	}
	return x.showChangedOrder(id, order, err)
}

// newEndOfHold returns when a hold ends according to the form, and whether the form is that of Undo.
func (x *exchange) newEndOfHold(was time.Time) (until time.Time, undoes bool, err error) {
	if text := x.field("until"); text != "" {
		if until, err = time.Parse(time.RFC3339Nano, text); err != nil {
			err = errUnreadableForm()
		}
		return until.In(x.Service.Location()), true, err
	}
	days, err := strconv.Atoi(x.field("days"))
	if err != nil || days < 1 || days > 366 {
		return until, false, shop.Errorf(shop.InvalidParameter, "The number of days must be between 1 and 366.")
	}
	return was.In(x.Service.Location()).AddDate(0, 0, days), false, nil
}

// formatHold returns the end of a hold as forms contain it.
func formatHold(end time.Time) string { return end.UTC().Format(time.RFC3339Nano) }
