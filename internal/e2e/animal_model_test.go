package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// step is a request that concerns a single animal. It identifies an order by the reference that the client
// chose, because the client does not know the order's ID if the response was lost.
type step struct {
	kind  stepKind
	pet   int
	order int    // the reference of the order to place or change
	to    string // the requested status for the order or the animal
}

type stepKind string

const (
	placeOrder      stepKind = "place"
	moveOrder       stepKind = "move" // change an order's status
	setStatus       stepKind = "set"  // change the animal's status directly, without an order
	readStatus      stepKind = "look"
	readNewestOrder stepKind = "newest" // read the animal's newest order
)

// outcome is the response to a step: the order and its status, the animal's status, or an error code.
type outcome struct {
	order  int
	status string
	code   string
}

// unknown is the outcome of a step that got no response. The step may have taken effect, may take effect
// later, or may never take effect.
var unknown = outcome{code: "unknown"}

// animalState is the state of one animal and its orders.
type animalState struct {
	status string
	orders string // all orders, oldest first, each in the form " 12=approved"
}

// after returns the outcome that the step must have in this state and the state after the step.
func (s animalState) after(in step) (outcome, animalState) {
	switch in.kind {
	case placeOrder:
		if s.status != "available" {
			return outcome{code: "pet_not_available"}, s
		}
		return outcome{order: in.order, status: "placed"}, animalState{"pending", fmt.Sprintf("%s %d=placed", s.orders, in.order)}
	case moveOrder:
		return s.afterMove(in)
	case setStatus:
		_, last := s.newest()
		switch {
		case in.to == s.status:
			return outcome{status: in.to}, s
		case s.status == "sold" && in.to == "pending":
			return outcome{code: "invalid_transition"}, s
		case last == "placed" || last == "approved":
			return outcome{code: "pet_has_open_order"}, s
		}
		return outcome{status: in.to}, animalState{in.to, s.orders}
	case readStatus:
		return outcome{status: s.status}, s
	default:
		order, status := s.newest()
		return outcome{order: order, status: status}, s
	}
}

func (s animalState) afterMove(in step) (outcome, animalState) {
	name := fmt.Sprintf(" %d=", in.order)
	before, rest, found := strings.Cut(s.orders, name)
	if !found {
		return outcome{code: "not_found"}, s
	}
	from, _, _ := strings.Cut(rest, " ")
	animal, allowed := map[string]string{
		"placed approved":    s.status,
		"placed cancelled":   "available",
		"approved delivered": "sold",
		"approved cancelled": "available",
	}[from+" "+in.to]
	switch {
	case from == in.to:
		return outcome{order: in.order, status: in.to}, s
	case !allowed:
		return outcome{code: "invalid_transition"}, s
	}
	return outcome{order: in.order, status: in.to}, animalState{animal, before + name + in.to + rest[len(from):]}
}

func (s animalState) newest() (order int, status string) {
	number, status, _ := strings.Cut(s.orders[strings.LastIndex(s.orders, " ")+1:], "=")
	order, _ = strconv.Atoi(number) // order is 0 if there is no order
	return order, status
}

// animalModel is a Porcupine model in which every animal is initially available. A step that got no response
// must be recorded as returning at the end of the history, so that it may take effect at any time after its
// request was sent. Taking effect at the very end is equivalent to never taking effect.
var animalModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byPet := map[int][]porcupine.Operation{}
		for _, operation := range history {
			pet := operation.Input.(step).pet
			byPet[pet] = append(byPet[pet], operation)
		}
		var parts [][]porcupine.Operation
		for _, part := range byPet {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return animalState{status: "available"} },
	Step: func(state, input, output any) (bool, any) {
		want, next := state.(animalState).after(input.(step))
		return output == unknown || output == want, next
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %+v", input, output) },
	DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
}

func TestAnimalModelAcceptsLegalHistoriesOnly(t *testing.T) {
	t.Parallel()
	// op returns an operation that was called at start and returned at end.
	op := func(start, end int64, in step, out outcome) porcupine.Operation {
		return porcupine.Operation{Input: in, Call: start, Output: out, Return: end}
	}
	const end = 1000
	placed := func(n int) outcome { return outcome{order: n, status: "placed"} }
	notAvailable := outcome{code: "pet_not_available"}
	petStatus := func(status string) outcome { return outcome{status: status} }
	order := func(n int) step { return step{kind: placeOrder, order: n} }
	moved := func(n int, status string) step { return step{kind: moveOrder, order: n, to: status} }
	read := step{kind: readStatus}

	for name, test := range map[string]struct {
		legal   bool
		history []porcupine.Operation
	}{
		"one of two concurrent orders": {true, []porcupine.Operation{op(0, 10, order(1), placed(1)), op(1, 9, order(2), notAvailable)}},
		"both of two concurrent orders": {false, []porcupine.Operation{
			op(0, 10, order(1), placed(1)), op(1, 9, order(2), placed(2))}},
		"both of two, in two animals": {true, []porcupine.Operation{
			op(0, 10, order(1), placed(1)), op(1, 9, step{kind: placeOrder, pet: 1, order: 2}, placed(2))}},
		"two, one cancelled between": {true, []porcupine.Operation{
			op(0, 1, order(1), placed(1)), op(2, 5, moved(1, "cancelled"), outcome{order: 1, status: "cancelled"}), op(3, 4, order(2), placed(2))}},
		"two, one cancelled later": {false, []porcupine.Operation{
			op(0, 1, order(1), placed(1)), op(2, 3, order(2), placed(2)), op(4, 5, moved(1, "cancelled"), outcome{order: 1, status: "cancelled"})}},
		"none gets a free one":                  {false, []porcupine.Operation{op(0, 1, order(1), notAvailable)}},
		"a read during a change":                {true, []porcupine.Operation{op(0, 9, order(1), placed(1)), op(1, 2, read, petStatus("pending")), op(3, 4, read, petStatus("pending"))}},
		"a read of an older state":              {false, []porcupine.Operation{op(0, 9, order(1), placed(1)), op(1, 2, read, petStatus("pending")), op(3, 4, read, petStatus("available"))}},
		"a stale read":                          {false, []porcupine.Operation{op(0, 1, order(1), placed(1)), op(2, 3, read, petStatus("available"))}},
		"a lost order that took effect":         {true, []porcupine.Operation{op(0, end, order(1), unknown), op(2, 3, read, petStatus("pending"))}},
		"a lost order that did not take effect": {true, []porcupine.Operation{op(0, end, order(1), unknown), op(2, 3, read, petStatus("available"))}},
		"a lost order that disappears": {false, []porcupine.Operation{
			op(0, end, order(1), unknown), op(2, 3, read, petStatus("pending")), op(4, 5, read, petStatus("available"))}},
		"a lost order seen before its request": {false, []porcupine.Operation{
			op(0, 1, read, petStatus("pending")), op(2, end, order(1), unknown)}},
		"a lost order that takes effect twice": {false, []porcupine.Operation{
			op(0, end, order(1), unknown), op(2, 3, step{kind: readNewestOrder}, placed(1)),
			op(4, 5, moved(1, "cancelled"), outcome{order: 1, status: "cancelled"}), op(6, 7, read, petStatus("pending"))}},
		"sold": {true, []porcupine.Operation{
			op(0, 1, order(1), placed(1)), op(2, 3, moved(1, "delivered"), outcome{code: "invalid_transition"}),
			op(4, 5, moved(1, "approved"), outcome{order: 1, status: "approved"}),
			op(6, 7, step{kind: setStatus, to: "available"}, outcome{code: "pet_has_open_order"}),
			op(8, 9, moved(1, "delivered"), outcome{order: 1, status: "delivered"}), op(10, 11, read, petStatus("sold")),
			op(12, 13, step{kind: setStatus, to: "pending"}, outcome{code: "invalid_transition"}),
			op(14, 15, step{kind: setStatus, to: "available"}, petStatus("available")), op(16, 17, order(2), placed(2)),
			op(18, 19, step{kind: readNewestOrder}, placed(2)), op(20, 21, moved(1, "cancelled"), outcome{code: "invalid_transition"})}},
		"ordered again after delivery": {false, []porcupine.Operation{
			op(0, 1, order(1), placed(1)), op(2, 3, moved(1, "approved"), outcome{order: 1, status: "approved"}),
			op(4, 5, moved(1, "delivered"), outcome{order: 1, status: "delivered"}), op(6, 7, order(2), placed(2))}},
		"status set despite an open order": {false, []porcupine.Operation{
			op(0, 1, order(1), placed(1)), op(2, 3, step{kind: setStatus, to: "available"}, petStatus("available"))}},
	} {
		t.Run(name, func(t *testing.T) {
			want := porcupine.Illegal
			if test.legal {
				want = porcupine.Ok
			}
			if got := porcupine.CheckOperationsTimeout(animalModel, test.history, time.Minute); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}
