package attack

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2/hpack"
)

// attack is one way to harm the service.
type attack struct {
	name        string
	store       storeKind
	bothEngines bool            // runs on PostgreSQL as well as on SQLite
	http2       bool            // uses TLS and HTTP/2
	traced      bool            // the service sends traces to a collector that does not answer
	serve       []string        // flags for the service
	send        func(*attacker) // attacks until the attacker's context ends
	imports     bool            // imports as much as one import may; writes of the shop may have to wait for one of these
	photos      bool            // adds photos, for which the service may use maxPhotoMemory more than before
	// probe is a request that the shop sends in addition to its usual ones, because the attack targets such
	// requests.
	probe step
	// exceeds checks a limit that applies only to this attack. It describes how the attack exceeded the limit, or
	// returns "" if it did not. It is nil if there is no such limit.
	exceeds func(row) string
}

func (a attack) engines() []engine {
	if a.bothEngines {
		return []engine{sqlite, postgreSQL}
	}
	return []engine{sqlite}
}

func (a attack) protocol() string {
	if a.http2 {
		return "HTTP/2"
	}
	return "HTTP/1.1"
}

const (
	reference   = "/docs"          // the largest page that needs no key
	streamPause = time.Millisecond // the pause before a new stream replaces one that the service has ended
)

// attacks returns all attacks. Each name begins with the kind of attack, such as A3. Kinds A1 to A11 were found in a
// review of version 1.0. The others were added with new features.
func attacks() []attack {
	return []attack{
		{name: "A0 slow headers", send: slowHeaders},
		{name: "A0 slow bodies", send: slowBodies},
		{name: "A1 unread docs, 1500 connections", send: unreadDocs},
		{name: "A1 unread docs, 20×250 streams", http2: true, send: unreadDocsStreams},
		{name: "A1 unchanged docs", send: unchangedDocs},
		{name: "A2 half-sent forms, 300 connections", send: halfSentForms},
		{name: "A2 half-sent forms, 2×250 streams", http2: true, send: halfSentFormStreams},
		{name: "A3 searches with a Host of 60 KB", store: small, send: longHosts},
		{name: "A3 distinct searches", store: small, send: distinctSearches},
		{name: "A4 4 clients search", bothEngines: true, send: func(a *attacker) { searches(a, 4) }},
		{name: "A4 32 clients search", bothEngines: true, send: func(a *attacker) { searches(a, 32) }},
		{name: "A4 abandoned searches", bothEngines: true, send: abandonedSearches},
		{name: "A4 reset searches", http2: true, send: resetSearches},
		{name: "A5 imports of 8 MiB", bothEngines: true, send: largeImports},
		{name: "A6 dashboard, a category per animal", store: categories, bothEngines: true, send: dashboards},
		{name: "A7 more than the rate limit", serve: []string{"--rate-limit", fmt.Sprint(rateLimit)},
			send: aboveRateLimit, exceeds: exceedsRateLimit},
		{name: "A8 live pages of one key", send: livePages, probe: openLivePage},
		{name: "A8 imports of one key", send: slowImports, probe: tryImport},
		{name: "A8 exports of one key", bothEngines: true, send: unreadExports, probe: openExport},
		{name: "A9 200 replays of events", bothEngines: true, send: replays},
		{name: "A9 200 replays on one connection", http2: true, send: replays},
		{name: "A10 330 of 300 connections", serve: []string{"--max-connections", "300"}, send: moreConnections},
		{name: "A10 1000 busy connections", send: busyConnections},
		{name: "A11 requests without a key", send: withoutKey, exceeds: exceedsLog},
		{name: "A12 200 assistants of one key", bothEngines: true, send: assistants},
		{name: "A12 1000 waiting assistants of one key", send: waitingAssistants},
		{name: "A13 280 printed lists of one key", bothEngines: true, send: printedLists, probe: checkReadiness},
		{name: "A13 file names of 8 MiB", store: small, send: longFileNames},
		{name: "A13 long addresses, 950 connections", send: longAddresses},
		{name: "A13 long tracestates", store: small, traced: true, send: longTracestates},
		{name: "A13 PING frames", http2: true, send: unreadPings},
		{name: "A13 reset requests", http2: true, send: resetRequests},
		{name: "A14 reset streams, 20 connections", http2: true, send: resetStreams},
		{name: "A14 byte-sized windows, 5 connections", http2: true, send: byteSizedWindows},
		{name: "A14 sign-ins over and over", serve: []string{"--rate-limit", fmt.Sprint(rateLimit)}, send: signIns, exceeds: exceedsRateLimit},
		{name: "A15 20 webhooks that never answer", store: growing, serve: allowPrivate, send: silentWebhooks, imports: true},
		{name: "A15 200 webhooks that refuse connections", store: growing, serve: allowPrivate, send: refusingWebhooks, imports: true},
		{name: "A15 imports of one key, one after another", store: growing, send: func(a *attacker) { importsOfKeys(a, 1) }, imports: true},
		{name: "A15 imports of three keys, one after another", store: growing, send: func(a *attacker) { importsOfKeys(a, 3) }, imports: true},
		{name: "A13 imports that name a category", store: names, bothEngines: true, send: namedImports},
		{name: "A13 imports of an ambiguous name", store: names, bothEngines: true, send: ambiguousImports, exceeds: exceedsLog},
		{name: "A16 12 uploads at the limits", store: growing, bothEngines: true, send: uploads, photos: true, exceeds: exceedsPhotoLimits},
		{name: "A17 200 visitors of the window", store: shown, serve: windowURL, bothEngines: true, send: crowdOnWindow},
		{name: "A17 distinct pages of the window", store: shown, serve: windowURL, bothEngines: true, send: distinctWindowPages},
		{name: "A17 unread sitemaps", store: shown, serve: windowURL, bothEngines: true, send: unreadSitemaps},
		{name: "A17 unread pages of JSON", store: shown, send: unreadJSON},
		{name: "A17 unread photos", store: growing, send: unreadPhotos},
		// This is the last attack on the small store, because its names stay there.
		{name: "A14 names of rare letters", store: small, send: rareNames, probe: searchPet, imports: true},
	}
}

func slowHeaders(a *attacker) {
	a.repeat(400, 400, func() {
		if conn := a.sendPart("GET /v1/pets HTTP/1.1\r\nHost: localhost\r\nX-A: "); conn != nil {
			a.untilClosed(conn, time.Second/2, strings.Repeat("a", 1000))
		}
	})
}

func slowBodies(a *attacker) {
	a.repeat(400, 400, func() {
		conn := a.sendPart(head("POST", "/v1/pets", a.authorization(), "Content-Type: application/json", "Content-Length: 60000"))
		if conn != nil {
			a.untilClosed(conn, time.Second/2, strings.Repeat(" ", 1000))
		}
	})
}

func unreadDocs(a *attacker) {
	a.repeat(1500, 1000, func() { a.withoutReading(head("GET", reference)) })
}

func unreadDocsStreams(a *attacker) {
	a.repeat(20, 20, func() { a.holdStreams(streamsPerConnection, http2Request{method: "GET", path: reference}) })
}

// unchangedDocs requests a page that the client already has. At the rate of this attack, the requests cost the service
// almost nothing, unless it reads or hashes the whole page for each of them.
func unchangedDocs(a *attacker) {
	response, err := a.client.Get("http://" + a.Address + reference)
	if err != nil {
		panic(err)
	}
	response.Body.Close()
	tag := "If-None-Match: " + response.Header.Get("ETag")
	a.repeat(16, 500, func() { a.request("GET", reference, "", tag) })
}

const formType = "application/x-www-form-urlencoded"

func halfSentForms(a *attacker) {
	text := head("POST", "/staff/sign-in", "Content-Type: "+formType, "Content-Length: 4000") + "k"
	a.repeat(300, 300, func() {
		if conn := a.sendPart(text); conn != nil {
			a.untilClosed(conn, 0, "")
		}
	})
}

func halfSentFormStreams(a *attacker) {
	r := http2Request{method: "POST", path: "/staff/sign-in", part: "k", window: 65535,
		fields: []hpack.HeaderField{{Name: "content-type", Value: formType}, {Name: "content-length", Value: "4000"}}}
	a.repeat(2, 2, func() { a.holdStreams(streamsPerConnection, r) })
}

func longHosts(a *attacker) {
	host := "Host: " + strings.Repeat("h", 60_000)
	var n atomic.Int64
	a.repeat(8, 1000, func() { a.request("GET", distinctSearch(n.Add(1)), "", a.authorization(), host) })
}

// distinctSearches requests pages that differ from each other, so that each of them needs an entry of its own
// in the cache.
func distinctSearches(a *attacker) {
	var n atomic.Int64
	a.repeat(16, 2000, func() { a.request("GET", distinctSearch(n.Add(1)), "", a.authorization()) })
}

// distinctSearch returns the path of a search that finds a whole page. The service ignores the unknown
// parameter n, but n makes every query different.
func distinctSearch(n int64) string {
	return fmt.Sprintf("/v1/pets?q=%s&limit=100&cursor=8%012d&n=%d", givenNames[n%8], 400+n/8%600, n)
}

// searches lets the given number of clients search. Each client sends at most about 20 searches per second.
func searches(a *attacker, clients int) {
	a.repeat(clients, 20*clients, func() { a.request("GET", a.search(), "", a.authorization()) })
}

// search returns the path of a search that finds little or nothing, so that the service may have to look at
// the whole catalogue.
func (a *attacker) search() string {
	given, breed := givenNames[rand.IntN(4)], breeds[4+rand.IntN(4)]
	switch rand.IntN(5) {
	case 0: // a word that occurs in no name
		return "/v1/pets?q=" + fmt.Sprintf("%c%cqx%c", 'a'+rand.IntN(26), 'a'+rand.IntN(26), 'a'+rand.IntN(26))
	case 1: // a number that occurs in few names
		return fmt.Sprintf("/v1/pets?q=%d", 1+rand.IntN(a.Animals))
	case 2: // a common word and a filter that no animal passes
		return "/v1/pets?status=sold&q=" + url.QueryEscape(given)
	case 3: // two common words that never occur in the same name
		return "/v1/pets?q=" + url.QueryEscape(given+" "+breed)
	default: // a single letter and a filter that no animal passes
		return "/v1/pets?status=sold&q=e"
	}
}

// abandonedSearches sends searches, each followed by one more byte, and disconnects. Because of the byte, the
// service may believe that the client is still waiting.
func abandonedSearches(a *attacker) {
	a.repeat(60, 60, func() {
		conn := a.sendPart(head("GET", a.search(), a.authorization()))
		if conn == nil {
			return
		}
		a.sleep(10 * time.Millisecond)
		conn.Write([]byte("G")) // if the service has closed the connection, there is nothing to abandon
		conn.Close()
	})
}

// resetSearches sends searches on one connection and resets each of them after 10 ms.
func resetSearches(a *attacker) {
	a.repeat(60, 60, func() {
		path := a.search()
		a.sent()
		ctx, cancel := context.WithTimeout(a.ctx, 10*time.Millisecond)
		defer cancel()
		response, err := a.client.Do(a.newRequest(ctx, "GET", path, "", a.authorization()))
		if err == nil {
			a.received(response.StatusCode)
			response.Body.Close()
		}
	})
}

func dashboards(a *attacker) {
	a.repeat(30, 30, func() { a.request("GET", "/", "", a.session()) })
}

// rateLimit is the number of requests per second that each key may send while the rate limit is attacked.
const rateLimit = 5

// aboveRateLimit sends eight times as many requests as the rate limit allows, half of them to the staff pages.
func aboveRateLimit(a *attacker) {
	var n atomic.Int64
	a.repeat(8, 8*rateLimit, func() {
		if n.Add(1)%2 == 0 {
			a.request("GET", "/staff/pets", "", a.session())
		} else {
			a.request("GET", "/v1/pets", "", a.authorization())
		}
	})
}

// exceedsRateLimit compares the number of accepted requests with the rate limit. It tolerates a burst of twice the
// limit, and one more second of requests for the start of the attack.
func exceedsRateLimit(r row) string {
	accepted := r.result.Statuses[http.StatusOK] + r.result.Statuses[http.StatusSeeOther]
	allowed := int(rateLimit * (r.result.Took.Seconds() + 3))
	if accepted <= allowed {
		return ""
	}
	return fmt.Sprintf("%d requests accepted, %d allowed", accepted, allowed)
}

// signIns signs in with the same key again and again. Each sign-in would open a session.
func signIns(a *attacker) {
	form := url.Values{"key": {a.Key}}.Encode()
	a.repeat(8, 500, func() { a.request("POST", "/staff/sign-in", form, "Content-Type: "+formType) })
}

func livePages(a *attacker) {
	a.repeat(2100, 1000, func() {
		if conn := a.sendPart(head("GET", "/staff/live", a.session())); conn != nil {
			a.untilClosed(conn, 0, "")
		}
	})
}

// unreadExports holds exports open and does not read them.
func unreadExports(a *attacker) {
	a.repeat(40, 50, func() { a.withoutReading(head("GET", "/v1/exports/pets.csv", a.authorization())) })
}

// replays requests all events from the beginning, in many streams with one key.
func replays(a *attacker) {
	a.repeat(200, 200, func() {
		if a.request("GET", "/v1/events?after=0", "", a.authorization(), "Accept: text/event-stream") != http.StatusOK {
			a.sleep(time.Second)
		}
	})
}

// moreConnections tries to hold more connections than the service allows, and never reads the responses on them.
func moreConnections(a *attacker) {
	a.repeat(330, 330, func() { a.neverReading(head("GET", reference)) })
}

// busyPause is how long busy clients pause between requests. It is shorter than the pause after which the
// service may drop a connection.
const busyPause = 300 * time.Millisecond

// busyConnections holds as many connections as the service allows, and sends the next request on each of them
// before the connection counts as idle. It immediately replaces each connection that the service closes.
func busyConnections(a *attacker) {
	a.repeat(1000, 1000, func() {
		if conn := a.dial(); conn != nil {
			a.stayBusy(conn, head("GET", "/livez"))
		}
	})
}

func withoutKey(a *attacker) {
	a.repeat(16, 3000, func() { a.request("GET", "/v1/pets", "") })
}

// assistants lets 200 assistants search with one key. Their messages are almost as long as the service allows.
func assistants(a *attacker) {
	a.repeat(200, 400, func() {
		query, _ := url.Parse(a.search())
		message := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_animals","arguments":{"text":%q,"limit":50},"_meta":{"x":%q}}}`,
			query.Query().Get("q"), strings.Repeat("x", 60_000))
		if a.request("POST", "/mcp", message, a.authorization(), "Content-Type: application/json", "Accept: */*") != http.StatusOK {
			a.sleep(time.Second)
		}
	})
}

// waitingAssistants lets 1,000 assistants search with one key. The service does not allow more connections than that.
func waitingAssistants(a *attacker) {
	const message = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_animals","arguments":{"text":"zzq"}}}`
	a.repeat(1000, 0, func() {
		if a.request("POST", "/mcp", message, a.authorization(), "Content-Type: application/json", "Accept: */*") != http.StatusOK {
			a.sleep(busyPause)
		}
	})
}

// printedLists requests the largest staff page, on many connections with one session.
func printedLists(a *attacker) {
	a.repeat(280, 560, func() {
		if a.request("GET", "/staff/pets/print", "", a.session()) != http.StatusOK {
			a.sleep(time.Second)
		}
	})
}

// longFileNames imports a file with a long name, which becomes even longer when it is escaped. At the rate of this
// attack, the requests cost the service little, unless it reads and shows the name.
func longFileNames(a *attacker) {
	var body strings.Builder
	form := multipart.NewWriter(&body)
	form.WriteField("held", base64.StdEncoding.EncodeToString([]byte("name,categoryId\nRex,1\n")))
	form.WriteField("held-name", strings.Repeat("'", 8<<20))
	form.Close() // cannot fail, because the form is written to memory
	a.repeat(2, 20, func() {
		a.request("POST", "/staff/import", body.String(), a.session(), "Content-Type: "+form.FormDataContentType())
	})
}

// longAddresses requests sign-in pages that redirect to a long address after the sign-in, and does not read the
// responses.
func longAddresses(a *attacker) {
	text := head("GET", "/staff/sign-in?next=/staff/pets?name="+strings.Repeat("'", 15_000))
	a.repeat(950, 950, func() { a.withoutReading(text) })
}

// longTracestates sends requests that have long Tracestate headers.
func longTracestates(a *attacker) {
	state := make([]string, 32)
	for i := range state {
		state[i] = fmt.Sprintf("k%d=%s", i, strings.Repeat("v", 256))
	}
	a.repeat(4, 2000, func() {
		a.request("GET", "/v1/pets", "", fmt.Sprintf("Traceparent: 00-%016x%016x-b7ad6b7169203331-01", rand.Uint64(), 1+rand.Uint64N(1e9)),
			"Tracestate: "+strings.Join(state, ","))
	})
}

// maxLogRate is how many bytes per second the service may log while it refuses requests. This includes the
// lines about the shop's requests.
const maxLogRate = 100_000

func exceedsLog(r row) string {
	if r.logRate <= maxLogRate {
		return ""
	}
	return fmt.Sprintf("%.0f KB of log per second", r.logRate/1000)
}
