package staff

import (
	"fmt"
	"strconv"
	"time"

	"animalstore/internal/shop"
)

// holdExtension is a choice in the menu that extends a hold.
type holdExtension struct {
	Days  int
	Label string
}

// holdExtensions lists the choices that the pages offer.
var holdExtensions = []holdExtension{{1, "1 more day"}, {3, "3 more days"}, {7, "1 more week"}}

// extendHold extends the hold of an order by the number of days in the form, unless the end of the hold has changed
// since the page was shown. The new end is at the same time of day as before. If the form has the field "until",
// extendHold undoes an extension and makes the hold end at that time.
func (p *Pages) extendHold(x *exchange, id int64) error {
	was, err := time.Parse(time.RFC3339Nano, x.field("was"))
	if err != nil {
		return errUnreadableForm()
	}
	until, undoes, err := x.newEndOfHold(was)
	if err != nil {
		return err
	}
	order, err := x.updateOrder(id, shop.OrderChange{HoldExpiresAt: &until}, func(now shop.Order) bool { return now.HoldExpiresAt.Equal(was) })
	if undoes {
		if err == nil {
			x.flashAbout(orderTopic(id), nil, "The hold of order %d ends on %s again.", id, until.Format("2 January at 15:04"))
		}
		return x.finishInPlace(undoError(err, fmt.Sprint("order ", id)), orderPath(id), orderTopic(id))
	}
	if err == nil {
		back := &undo{orderPath(id) + "/hold", map[string]string{"was": formatHold(until), "until": formatHold(was)}}
		x.flashAbout(orderTopic(id), back, "The hold of order %d now ends on %s.", id, until.Format("2 January at 15:04"))
	}
	return x.showChangedOrder(id, order, err)
}

// newEndOfHold returns the end of a hold that the form asks for, and whether the form undoes an extension. The
// parameter was is the end of the hold so far.
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

// formatHold formats the end of a hold for a form field.
func formatHold(end time.Time) string { return end.UTC().Format(time.RFC3339Nano) }

// timeLeft formats the time that is left, such as "29 min", "2 h 5 min" or "1 day 22 h". The function timeLeft in staff.js must
// return the same texts.
func timeLeft(d time.Duration) string {
	switch {
	case d <= 0:
		return "Expired"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%s %d h", count(int(d.Hours())/24, "day"), int(d.Hours())%24)
}
