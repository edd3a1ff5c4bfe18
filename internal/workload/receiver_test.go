package workload

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"animalstore/client"
)

// TestMessageCheckerFindsFaults checks that the checker for webhook messages accepts repeated messages and
// reports each fault.
func TestMessageCheckerFindsFaults(t *testing.T) {
	t.Parallel()
	type received struct {
		events     []client.Event
		accepted   []message
		deliveries []client.Delivery
	}
	for name, test := range map[string]struct {
		found   string
		corrupt func(r *received)
	}{
		"a message is repeated":       {"", func(r *received) { r.accepted = append(r.accepted, r.accepted[0]) }},
		"a message is lost":           {"event 2 was not sent", func(r *received) { r.accepted = slices.Delete(r.accepted, 1, 2) }},
		"a delivery is lost":          {"event 2 was not sent", func(r *received) { r.deliveries = slices.Delete(r.deliveries, 1, 2) }},
		"an event has two messages":   {"event 1 was sent as message m1 and as message m9", func(r *received) { r.accepted = append(r.accepted, message{"m9", r.events[0]}) }},
		"an event has two deliveries": {"event 1 has two deliveries", func(r *received) { r.deliveries = append(r.deliveries, r.deliveries[0]) }},
		"an event is sent to nobody":  {"message m9 contains", func(r *received) { r.accepted = append(r.accepted, message{"m9", client.Event{ID: "9"}}) }},
		"the content differs":         {"message m1 contains", func(r *received) { r.accepted[0].event.Subject = "pets/7" }},
		"a delivery failed":           {"delivery 1 of event 1 as message m1 is failed", func(r *received) { r.deliveries[0].Status = client.DeliveryFailed }},
		"the log has another message": {"as message m9 is succeeded; the receiver got message m1", func(r *received) { r.deliveries[0].MessageID = "m9" }},
	} {
		t.Run(name, func(t *testing.T) {
			r := &received{}
			for i := 1; i <= 3; i++ {
				e := client.Event{ID: fmt.Sprint(i), Type: client.EventOrderPlaced, Subject: fmt.Sprint("store/orders/", i)}
				m := message{fmt.Sprint("m", i), e}
				r.events, r.accepted = append(r.events, e), append(r.accepted, m)
				r.deliveries = append(r.deliveries, client.Delivery{ID: int64(i), EventID: e.ID, MessageID: m.id, Status: client.DeliverySucceeded})
			}
			test.corrupt(r)
			problems := checkMessages(r.events, r.accepted, r.deliveries)
			if all := strings.Join(problems, "\n"); test.found == "" && all != "" || !strings.Contains(all, test.found) {
				t.Errorf("got these problems, want %q:\n%s", test.found, all)
			}
		})
	}
}
