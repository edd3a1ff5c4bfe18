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
	path  string // the path of a read; %d stands for the id of the animal
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

// after returns the outcome that the step must have in this state. It also returns the state after the step.
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
	const legal, illegal, end = porcupine.Ok, porcupine.Illegal, 1000
	type op struct {
		start, end int64
		in         step
		out        outcome
	}
	moved := func(n int, status string) outcome { return outcome{order: n, status: status} }
	placed := func(n int) outcome { return moved(n, "placed") }
	petStatus := func(status string) outcome { return outcome{status: status} }
	code := func(code string) outcome { return outcome{code: code} }
	order := func(n int) step { return step{kind: placeOrder, order: n} }
	move := func(n int, status string) step { return step{kind: moveOrder, order: n, to: status} }
	set := func(status string) step { return step{kind: setStatus, to: status} }
	read, newest := step{kind: readStatus}, step{kind: readNewestOrder}

	for name, test := range map[string]struct {
		want    porcupine.CheckResult
		history []op
	}{
		"one of two concurrent orders":  {legal, []op{{0, 10, order(1), placed(1)}, {1, 9, order(2), code("pet_not_available")}}},
		"both of two concurrent orders": {illegal, []op{{0, 10, order(1), placed(1)}, {1, 9, order(2), placed(2)}}},
		"both of two, in two animals": {legal, []op{
			{0, 10, order(1), placed(1)}, {1, 9, step{kind: placeOrder, pet: 1, order: 2}, placed(2)}}},
		"two, one cancelled between": {legal, []op{
			{0, 1, order(1), placed(1)}, {2, 5, move(1, "cancelled"), moved(1, "cancelled")}, {3, 4, order(2), placed(2)}}},
		"a read during a change": {legal, []op{
			{0, 9, order(1), placed(1)}, {1, 2, read, petStatus("pending")}, {3, 4, read, petStatus("pending")}}},
		"a read of an older state": {illegal, []op{
			{0, 9, order(1), placed(1)}, {1, 2, read, petStatus("pending")}, {3, 4, read, petStatus("available")}}},
		"a stale read":                          {illegal, []op{{0, 1, order(1), placed(1)}, {2, 3, read, petStatus("available")}}},
		"a lost order that took effect":         {legal, []op{{0, end, order(1), unknown}, {2, 3, read, petStatus("pending")}}},
		"a lost order that did not take effect": {legal, []op{{0, end, order(1), unknown}, {2, 3, read, petStatus("available")}}},
		"a lost order that disappears": {illegal, []op{
			{0, end, order(1), unknown}, {2, 3, read, petStatus("pending")}, {4, 5, read, petStatus("available")}}},
		"a lost order seen before its request": {illegal, []op{{0, 1, read, petStatus("pending")}, {2, end, order(1), unknown}}},
		"a lost order that takes effect twice": {illegal, []op{
			{0, end, order(1), unknown}, {2, 3, newest, placed(1)},
			{4, 5, move(1, "cancelled"), moved(1, "cancelled")}, {6, 7, read, petStatus("pending")}}},
		"sold": {legal, []op{
			{0, 1, order(1), placed(1)}, {2, 3, move(1, "delivered"), code("invalid_transition")},
			{4, 5, move(1, "approved"), moved(1, "approved")}, {6, 7, set("available"), code("pet_has_open_order")},
			{8, 9, move(1, "delivered"), moved(1, "delivered")}, {10, 11, read, petStatus("sold")},
			{12, 13, set("pending"), code("invalid_transition")}, {14, 15, set("available"), petStatus("available")},
			{16, 17, order(2), placed(2)}, {18, 19, newest, placed(2)}, {20, 21, move(1, "cancelled"), code("invalid_transition")}}},
		"set despite an open order": {illegal, []op{{0, 1, order(1), placed(1)}, {2, 3, set("available"), petStatus("available")}}},
	} {
		var history []porcupine.Operation
		for _, o := range test.history {
			history = append(history, porcupine.Operation{Input: o.in, Call: o.start, Output: o.out, Return: o.end})
		}
		if got := porcupine.CheckOperationsTimeout(animalModel, history, time.Minute); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}
