// Package plans sends every kind of request to a service on PostgreSQL, and reads the plan of each statement that a
// request causes from the server's log. The test fails if a statement scans a large table. By default, the store has
// 20,000 animals. This command prints a table of the costs in a store with five million animals:
//
//	go test -count 1 -run '^TestPlans$' -timeout 0 -v ./internal/plans -animals 5000000
package plans

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"

	"animalstore/api/apitest"
	"animalstore/internal/httpapi"
	"animalstore/internal/leaktest"
	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
	"animalstore/internal/sqlstore"
	"animalstore/internal/staff"
)

var animals = flag.Int("animals", 20_000, "number of animals in the store")

const (
	// largeTable is the number of rows at which a table counts as large. A large table must not be scanned.
	largeTable = 2_000
	// maxExamined is the maximum number of rows that one node of a plan may read from a table. A search
	// compares at most 2,000 animals, and reads at most 4,096 rows of the search index.
	maxExamined = 4_500
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// No request reads more of the store than its response needs, however large the store is. Without an index for a
// query, PostgreSQL would scan a table.
func TestPlans(t *testing.T) {
	server := pgtest.Start(t, "session_preload_libraries=auto_explain", "auto_explain.log_min_duration=-1",
		"auto_explain.log_analyze=on", "auto_explain.log_buffers=on", "auto_explain.log_format=json",
		"auto_explain.log_nested_statements=on", "random_page_cost=1.1", "shared_buffers=256MB", "maintenance_work_mem=256MB",
		"max_wal_size=4GB")
	database := server.NewDatabase(t)
	store := shoptest.Must(sqlstore.Open(t.Context(), database, sqlstore.Options{}))(t)
	db := pgtest.Connect(t, database)
	fill(t, db, store, *animals)
	large := pgtest.Column[string](db, fmt.Sprintf("SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND reltuples >= %d", largeTable))
	if len(large) < 4 {
		t.Fatalf("only %v are large, so the test proves nothing", large)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}

	db.Do("ALTER DATABASE " + db.Name() + " SET auto_explain.log_min_duration = 0")
	store = shoptest.Must(sqlstore.Open(t.Context(), database, sqlstore.Options{}))(t)
	defer store.Close()
	b := newExplained(t, store, db)
	sent := requests(*animals)
	wantEveryRoute(t, sent)
	for _, r := range sent {
		b.send(r)
	}
	counts := map[string]string{"job: count days": "the chart of the dashboard adds up the events of 30 days once"}
	for _, r := range sent {
		counts[r.name()] = r.counts
	}
	b.runJobs()
	statements := parseLog(t, server.Log(t))
	names := append(b.names, b.jobs...)
	fmt.Print(table(names, statements))
	for _, name := range names {
		for _, s := range statements[name] {
			for _, problem := range problems(s, large, counts[name] != "") {
				t.Errorf("%s: %s:\n%s", name, problem, s.Text)
			}
		}
	}
}

// problems describes what is wrong with the plan of a statement. If counts is set, the statement may examine many
// rows and scan large tables.
func problems(s statement, large []string, counts bool) (found []string) {
	for _, n := range s.Plan.all() {
		switch {
		case n.Type == "Seq Scan" && slices.Contains(large, n.Relation) && !counts:
			found = append(found, "it scans "+n.Relation)
		case n.examined() > maxExamined && !counts:
			found = append(found, fmt.Sprintf("it reads %.0f rows of %s by %s %s", n.examined(), n.Relation, n.Type, n.Index))
		}
	}
	return found
}

// explained is a service on a PostgreSQL server that logs the plan of every statement.
type explained struct {
	t       *testing.T
	db      *pgtest.DB
	service *shop.Service
	url     string
	client  *http.Client
	nextPet int
	names   []string // the requests that were sent
	jobs    []string // the jobs that have run
}

func newExplained(t *testing.T, store *sqlstore.Store, db *pgtest.DB) *explained {
	t.Helper()
	service, log := newService(t, store), slog.New(slog.NewTextHandler(t.Output(), nil))
	api := shoptest.Must(httpapi.New(httpapi.Config{Service: service, Log: log, Version: "test"}))(t)
	pages := shoptest.Must(staff.New(staff.Config{Service: service, Log: log}))(t)
	server := shoptest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if staff.Serves(r.URL.Path) {
			pages.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	}))
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	t.Cleanup(pages.Stopping)
	b := &explained{t: t, db: db, service: service, url: server.URL, nextPet: *animals * 9 / 10, client: &http.Client{
		Jar: shoptest.Must(cookiejar.New(nil))(t), Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	response := shoptest.Must(b.client.PostForm(b.url+"/staff/sign-in", url.Values{"key": {shoptest.AdminKey}}))(t)
	response.Body.Close()
	if response.StatusCode != http.StatusSeeOther {
		t.Fatalf("the sign-in got %s", response.Status)
	}
	return b
}

// mark writes a marker with a name to the server's log. The statements that follow it belong to the request or job
// with this name.
func (b *explained) mark(name string) {
	b.t.Helper()
	b.db.Do("DO $$BEGIN RAISE LOG '" + marker + "%', '" + strings.ReplaceAll(strings.ReplaceAll(name, "'", "''"), "\n", " ") + "'; END$$")
}

// send sends a request between two markers, so that the statements of the request can be found in the log.
func (b *explained) send(r request) {
	b.t.Helper()
	name := strings.ReplaceAll(r.name(), "\n", " ")
	b.names = append(b.names, name)
	b.mark(name)
	b.sendOnce(r)
	b.mark("")
}

func (b *explained) sendOnce(r request) {
	b.t.Helper()
	if r.method+" "+r.path == fmt.Sprintf("POST /v1/pets/%d/restore", *animals) {
		b.mark("")
		b.sendOnce(request{method: "DELETE", path: fmt.Sprintf("/v1/pets/%d", *animals)})
		b.mark(r.name())
	}
	pet := func(text string) string {
		if strings.Contains(text, "%d") {
			b.nextPet++
			return fmt.Sprintf(text, b.nextPet)
		}
		return text
	}
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	body, isImage := shoptest.Must(apitest.ExampleImages())(b.t)[r.body]
	if !isImage {
		body = pet(r.body)
	}
	sent := shoptest.Must(http.NewRequestWithContext(ctx, r.method, b.url+pet(r.path), strings.NewReader(body)))(b.t)
	switch {
	case isImage:
		sent.Header.Set("Content-Type", "image/jpeg")
	case staff.Serves(sent.URL.Path):
		sent.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	case strings.HasPrefix(r.path, "/v1/imports"):
		sent.Header.Set("Content-Type", "text/csv")
	default:
		sent.Header.Set("Content-Type", "application/json")
	}
	if !staff.Serves(sent.URL.Path) {
		sent.Header.Set("Authorization", "Bearer "+shoptest.AdminKey)
		if r.method == "POST" {
			sent.Header.Set("Idempotency-Key", fmt.Sprint("plans-", len(b.names)))
		}
	}
	response := shoptest.Must(b.client.Do(sent))(b.t)
	defer response.Body.Close()
	// An export of millions of animals does not have to be read to its end.
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil || response.StatusCode >= 400 {
		b.t.Errorf("%s: %s, %v: %.300s", r.name(), response.Status, err, text)
	}
}

// runJobs runs the jobs that every node runs in the background.
func (b *explained) runJobs() {
	b.t.Helper()
	for name, job := range map[string]func(context.Context) error{
		"expire holds": b.service.ExpireHolds, "save last uses": b.service.SaveLastUses,
		"prune idempotency records": b.service.PruneIdempotencyRecords, "remove events": b.service.RemoveEvents,
		"remove deliveries": b.service.RemoveDeliveries, "remove sessions": b.service.RemoveSessions, "maintain": b.service.Maintain,
		"index searches": b.service.IndexSearch, "summarize events": b.service.SummarizeEvents,
		"fold counts": b.service.FoldCounts, "purge photos": b.service.PurgePhotos,
	} {
		name = "job: " + name
		b.jobs = append(b.jobs, name)
		b.mark(name)
		if err := job(b.t.Context()); err != nil {
			b.t.Errorf("%s: %v", name, err)
		}
	}
	b.mark("")
	slices.Sort(b.jobs)
}

// table returns a table with the cost of each request: the number of statements, their time, the pages that they
// read, and the scan that examines the most rows.
func table(names []string, statements map[string][]statement) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%-75s %10s %9s %9s   %s\n", "request", "statements", "ms", "pages", "largest part of the plan that reads most")
	for _, name := range names {
		var ms float64
		pages := 0
		for _, s := range statements[name] {
			ms, pages = ms+s.duration, pages+s.Plan.pages()
		}
		fmt.Fprintf(&text, "%-75.75s %10d %9.2f %9d   %s\n", name, len(statements[name]), ms, pages, largest(statements[name]))
	}
	return text.String()
}

// largest describes the scan that examines the most rows.
func largest(statements []statement) string {
	var scans []node
	for _, s := range statements {
		for _, n := range s.Plan.all() {
			if n.examined() > 0 {
				scans = append(scans, n)
			}
		}
	}
	if len(scans) == 0 {
		return "-"
	}
	n := slices.MaxFunc(scans, func(a, b node) int { return cmp.Compare(a.examined(), b.examined()) })
	return fmt.Sprintf("%s %s: %.0f rows", n.Type, cmp.Or(n.Index, n.Relation), n.examined())
}
