package e2e

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/client"
)

// soak is a shop in bad times.
type soak struct {
	t      *testing.T
	seed   uint64
	dice   *rand.Rand // of the one who makes the faults
	begun  time.Time
	folder *folder
	nodes  []*program
	busy   bool // its database may be away, and then reads fail, too
	faults []func()
	mild   []func() // those of them that leave the process alive

	road, longRoad *road // of visitors, whose connections break often; and of witnesses
	visitors       []*visitor
	witnesses      []*witness
	letterbox      *letterbox
	clerk          *clerk
	running        sync.WaitGroup

	requests, unanswered, unavailable, acknowledged, repeats, looks atomic.Int64
	kills, stops, fullDisks, databaseCuts                           int

	mu       sync.Mutex
	deeds    []*deed
	market   []int64 // the newest animals that were offered for sale
	problems []string
	exports  []export // the newest
	exported int
}

const (
	soakVisitors, soakWitnesses = 16, 3
	shortFray, longFray         = 40_000, 2_000_000
)

// newSoak opens a shop of some nodes.
func newSoak(t *testing.T, f *folder, seed uint64, nodes int) *soak {
	t.Helper()
	s := &soak{t: t, seed: seed, dice: rand.New(rand.NewPCG(seed, 3000)), begun: time.Now(), folder: f, nodes: make([]*program, nodes)}
	t.Cleanup(func() { // the last of all
		if len(s.problems) > 0 {
			t.Errorf("%d problems:\n%s", len(s.problems), few(s.problems))
		}
	})
	s.road, s.longRoad = newRoad(t, seed, nodes, shortFray), newRoad(t, seed, nodes, longFray)
	for i := range nodes {
		s.open(i)
	}
	s.faults, s.mild = []func(){s.kill, s.kill, s.stop, s.cut}, []func(){s.cut}
	c, err := client.New(s.nodes[0].url+"/v1", adminKey, client.WithHTTPClient(s.nodes[0].client))
	if err != nil {
		t.Fatal(err)
	}
	s.letterbox = newLetterbox(s, c)
	for i := range soakVisitors {
		s.visitors = append(s.visitors, newVisitor(s, i))
	}
	for i := range soakWitnesses {
		s.witnesses = append(s.witnesses, newWitness(s, i))
	}
	s.clerk = newClerk(s)
	return s
}

// open starts a node.
func (s *soak) open(i int) {
	s.t.Helper()
	s.nodes[i] = s.folder.serve("--webhook-allow-private", "--order-hold", "3s")
	s.nodes[i].bereft = true
	addr := strings.TrimPrefix(s.nodes[i].url, "http://")
	s.road.put(i, addr)
	s.longRoad.put(i, addr)
}

// close takes a node off the roads, so that nobody new comes, and ends it.
func (s *soak) close(i int, end func(*program)) {
	s.t.Helper()
	s.road.put(i, "")
	s.longRoad.put(i, "")
	end(s.nodes[i])
	s.nodes[i].output.forget()
}

func (s *soak) kill() {
	s.t.Helper()
	i := s.dice.IntN(len(s.nodes))
	s.close(i, (*program).kill)
	s.kills++
	s.open(i)
}

func (s *soak) stop() {
	s.t.Helper()
	i := s.dice.IntN(len(s.nodes))
	s.close(i, (*program).stop)
	s.stops++
	s.open(i)
}

func (s *soak) cut() {
	s.road.cutAll()
	s.longRoad.cutAll()
}

// pause is some time between faults.
func (s *soak) pause(from, to int) {
	time.Sleep(time.Duration(from+s.dice.IntN(to-from)) * time.Millisecond)
}

// await waits until a number has grown, or something is wrong already.
func (s *soak) await(what string, number *atomic.Int64, by int64) {
	s.t.Helper()
	enough := number.Load() + by
	await(s.t, what, func() bool { return number.Load() >= enough || s.wrong() })
}

// come lets everybody in, until they are told to go.
func (s *soak) come() (leave func()) {
	ctx, cancel := context.WithCancel(context.Background())
	for _, v := range s.visitors {
		s.running.Go(func() { v.come(ctx) })
	}
	for _, w := range s.witnesses {
		s.running.Go(func() { w.follow(ctx) })
	}
	s.running.Go(func() { s.clerk.write(ctx) })
	leave = func() {
		cancel()
		s.running.Wait()
	}
	s.t.Cleanup(leave) // also where the test gives up
	return leave
}

// run is bad times for two thirds of the length, and then better ones, in which nobody is killed, to see what is left of them.
func (s *soak) run(length time.Duration) {
	s.t.Helper()
	leave := s.come()
	bad := time.Now().Add(length * 2 / 3)
	for n := 0; (n < len(s.faults) || time.Now().Before(bad)) && !s.wrong(); n++ {
		s.pause(100, 1500)
		if n < len(s.faults) { // each at least once
			s.faults[n]()
		} else {
			s.faults[s.dice.IntN(len(s.faults))]()
		}
	}
	leave()
	s.kill()
	leave = s.come() // until all is warm
	time.Sleep(length / 12)
	leave()
	before := s.settled()
	leave = s.come()
	for good := time.Now().Add(length / 4); time.Now().Before(good) && !s.wrong(); {
		s.pause(500, 1500)
		s.mild[s.dice.IntN(len(s.mild))]()
	}
	leave()
	s.check()
	s.returns(before)
	for _, node := range s.nodes {
		node.stop()
	}
}

// check waits until there is nothing left to do, and reads everything.
func (s *soak) check() {
	s.t.Helper()
	s.road.calm(0)
	s.longRoad.calm(0)
	var told story
	for i, node := range s.nodes {
		c, err := client.New(node.url+"/v1", adminKey, client.WithHTTPClient(node.client))
		if err != nil {
			s.t.Fatal(err)
		}
		await(s.t, "the last holds to run out", func() bool {
			orders, _, err := c.ListOrders(s.t.Context(), client.OrderQuery{Status: client.OrderPlaced})
			return err == nil && len(orders) == 0
		})
		here := story{deeds: s.deeds, exports: s.exports}
		here.events = collect(s.t, c.Events(s.t.Context(), client.EventQuery{Limit: 100}))
		here.pets = collect(s.t, c.Pets(s.t.Context(), client.PetQuery{Limit: 100}))
		here.orders = collect(s.t, c.Orders(s.t.Context(), client.OrderQuery{Limit: 100}))
		here.categories = collect(s.t, c.Categories(s.t.Context()))
		if here.inventory, err = c.Inventory(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
		for _, problem := range here.check() {
			s.problem("on node %d: %s", i, problem)
		}
		told = here
	}
	s.report(told)
	if !s.wrong() {
		s.checkWitnesses(told.events)
	}
}

func collect[T any](t *testing.T, all iter.Seq2[T, error]) (list []T) {
	t.Helper()
	for one, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, one)
	}
	return list
}

// checkWitnesses expects everybody to have been told of every event, in the end.
func (s *soak) checkWitnesses(events []client.Event) {
	s.t.Helper()
	var want sequence
	for _, e := range events {
		want.add(e)
	}
	ctx, stop := context.WithCancel(context.Background())
	var following sync.WaitGroup
	for _, w := range s.witnesses {
		following.Go(func() { w.follow(ctx) })
	}
	last := events[len(events)-1].ID
	for _, w := range s.witnesses {
		await(s.t, "a witness", func() bool { return !comesAfter(last, w.reached()) })
	}
	stop()
	following.Wait()
	resumed := 0
	for i, w := range s.witnesses {
		resumed += w.resumed
		if difference := w.seen.differs(want); difference != "" {
			s.problem("the witness %d was told something else: %s", i, difference)
		}
	}
	await(s.t, "the last letters", func() bool { return s.letterbox.missing(events) == "" })
	s.letterbox.mu.Lock()
	defer s.letterbox.mu.Unlock()
	s.t.Logf("%d witnesses, begun %d times, saw every event; %d letters came %d times, of which %d were not taken",
		len(s.witnesses), resumed, len(s.letterbox.taken), s.letterbox.times, len(s.letterbox.failed))
}

// report says how bad the times were.
func (s *soak) report(told story) {
	verdicts := map[verdict]int{}
	for _, d := range s.deeds {
		verdicts[d.verdict]++
	}
	s.t.Logf("%d requests, of which %d had no answer, and %d writes a 503; %v; %d answers of before, and %d reads",
		s.requests.Load(), s.unanswered.Load(), s.unavailable.Load(), verdicts, s.repeats.Load(), s.looks.Load())
	s.t.Logf("%d kills, %d stops, %d full disks, %d times no database, %d connections cut",
		s.kills, s.stops, s.fullDisks, s.databaseCuts, s.road.cuts.Load()+s.longRoad.cuts.Load())
	s.t.Logf("%d events; %d animals, %d orders and %d categories are there; %d exports came whole",
		len(told.events), len(told.pets), len(told.orders), len(told.categories), s.exported)
}

// problem notes what is wrong.
func (s *soak) problem(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

func (s *soak) wrong() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.problems) > 0
}

// note writes down a deed before it is tried.
func (s *soak) note(d *deed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deeds = append(s.deeds, d)
}

// settle writes down what came of it.
func (s *soak) settle(d *deed, v verdict, subject string) {
	d.answered, d.verdict, d.subject = time.Since(s.begun), v, subject
	if v == done {
		s.acknowledged.Add(1)
	}
}

// offer puts an animal on the market.
func (s *soak) offer(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.market = append(s.market, id)
	if len(s.market) > 40 {
		s.market = s.market[1:]
	}
}

// wanted is an animal on the market.
func (s *soak) wanted(dice *rand.Rand) (int64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.market) == 0 {
		return 0, false
	}
	return s.market[dice.IntN(len(s.market))], true
}

// forget keeps of a process that has ended what may have to be looked at: a long soak has a long log.
func (t *transcript) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if bytes.Contains(t.text.Bytes(), []byte("DATA RACE")) {
		return
	}
	const last = 100
	var kept bytes.Buffer
	lines := bytes.SplitAfter(t.text.Bytes(), []byte("\n"))
	for i, line := range lines {
		if i >= len(lines)-last || bytes.Contains(line, []byte("level=ERROR")) || bytes.Contains(line, []byte("level=WARN")) {
			kept.Write(line)
		}
	}
	t.text = kept
}
