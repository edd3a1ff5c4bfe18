package httpapi

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
	"animalstore/internal/web"
)

// An assistant can do the daily work of the shop, from adding an animal to selling it.
func TestAssistantUsesTheStore(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *testShop) {
		a := s.assistant(t, s.key(shop.PetsRead, shop.PetsWrite, shop.OrdersRead, shop.OrdersWrite, shop.EventsRead), "")
		a.tools()
		s.do("PUT", "/v1/categories/7", `{"name":"Dogs"}`).want(t, 201, "")
		a.want("list_categories", `{"text":"dog"}`, `1 category\ncategory 7: "Dogs"`)
		a.want("list_categories", `{"text":"cat"}`, `0 categories`)
		added := a.want("add_animal", `{"name":"Rex","categoryId":7,"idempotencyKey":"first-animal"}`, `animal 1: "Rex", category 7, no status, version .*`)
		changed := a.want("change_animal", fmt.Sprintf(`{"id":1,"version":%q,"status":"available","name":"Réx"}`, version(t, added)),
			`animal 1: "Réx", category 7, available, version .*`)
		a.want("add_animal", `{"name":"Mia","categoryId":8,"status":"sold","idempotencyKey":"second-animal"}`, `animal 2: .*`)
		a.want("find_animals", `{"text":"REX","status":"available","categoryId":7}`, `1 animal\nanimal 1: "Réx", category 7, available`)
		a.want("find_animals", `{"limit":1}`, `1 animal\nanimal 2: .*\nThere are more; continue with cursor .*`)
		a.want("count_animals", `{}`, `1 available, 0 pending, 1 sold, 0 without a status, 2 in total`)

		placed := a.want("place_order", `{"animalId":1,"reference":"Miller","idempotencyKey":"first-order"}`,
			`order 1 for animal 1: placed since .*, held until .*, reference "Miller", version .*`)
		a.wantError("place_order", `{"animalId":1,"idempotencyKey":"second-order"}`, shop.PetNotAvailable)
		a.wantError("change_animal", fmt.Sprintf(`{"id":1,"version":%q,"status":"sold"}`, version(t, changed)), shop.PreconditionFailed)
		held := a.call("get_animal", `{"id":1}`)
		a.wantError("change_animal", fmt.Sprintf(`{"id":1,"version":%q,"status":"sold"}`, version(t, held)), shop.PetHasOpenOrder)
		a.want("find_orders", `{"status":"placed","animalId":1,"text":"miller"}`, `1 order\norder 1 for animal 1: placed since .*`)
		a.wantError("change_order", fmt.Sprintf(`{"id":1,"version":%q,"status":"delivered"}`, version(t, placed)), shop.InvalidTransition)
		renamed := a.want("change_order", fmt.Sprintf(`{"id":1,"version":%q,"reference":""}`, version(t, placed)), `order 1 for animal 1: placed since [^ ]* held until [^ ]* version .*`)
		approved := a.want("change_order", fmt.Sprintf(`{"id":1,"version":%q,"status":"approved"}`, version(t, renamed)), `order 1 for animal 1: approved since [^ ]* version .*`)
		a.want("change_order", fmt.Sprintf(`{"id":1,"version":%q,"status":"delivered"}`, version(t, approved)), `order 1 for animal 1: delivered since .*`)

		a.want("get_order", `{"id":1}`, `order 1 for animal 1: delivered since [^ ]*, version [^\n]*
[^ ]* order.delivered store/orders/1 by keys/1: status "approved" → "delivered"
[^ ]* order.approved store/orders/1 by keys/1: status "placed" → "approved", holdExpiresAt .* → none
[^ ]* order.updated store/orders/1 by keys/1: reference "Miller" → none
[^ ]* order.placed store/orders/1 by keys/1: holdExpiresAt .*, petId 1, reference "Miller", status "placed"`)
		a.want("get_animal", `{"id":1}`, `animal 1: "Réx", category 7, sold \("Dogs"\), version [^\n]*
profile: published false, profileVersion [^\n]*
order 1 for animal 1: delivered since [^\n]*
[^ ]* pet.updated pets/1 by keys/1: status "pending" → "sold"
[^ ]* pet.updated pets/1 by keys/1: status "available" → "pending"
[^ ]* pet.updated pets/1 by keys/1: name "Rex" → "Réx", status "available"
[^ ]* pet.created pets/1 by keys/1: categoryId 7, name "Rex"`)
		a.want("recent_activity", `{"limit":2}`, `2 changes\n[^\n]* pet.updated pets/1 [^\n]*\n[^\n]* order.delivered [^\n]*`)
		a.want("recent_activity", `{"type":"category.created","subject":"categories/8"}`, `1 change\n[^\n]* category.created categories/8 by keys/1`)
		a.want("recent_activity", `{"actor":"configured","since":"2001-01-01T00:00:00Z"}`, `1 change\n[^\n]* category.created categories/7 by configured: name "Dogs"`)
	})
}

// A repeated write has no effect, even if something else was changed in between.
func TestRepeatedToolCallDoesNothingTwice(t *testing.T) {
	s := parallelShop(t)
	a := s.assistant(t, s.key(shop.PetsWrite, shop.OrdersWrite), "")
	const animal = `{"name":"Rex","categoryId":1,"status":"available","idempotencyKey":"the same key"}`
	added := a.call("add_animal", animal)
	a.want("add_animal", animal, regexp.QuoteMeta(textOf(added)))
	a.wantError("add_animal", strings.Replace(animal, "Rex", "Max", 1), shop.IdempotencyKeyReused)
	rename := fmt.Sprintf(`{"id":1,"version":%q,"name":"Max"}`, version(t, added))
	a.want("change_animal", rename, `animal 1: "Max", .*`)
	a.wantError("change_animal", rename, shop.PreconditionFailed)
	const order = `{"animalId":1,"idempotencyKey":"the key of the order"}`
	placed := a.call("place_order", order)
	cancel := fmt.Sprintf(`{"id":1,"version":%q,"status":"cancelled"}`, version(t, placed))
	cancelled := a.want("change_order", cancel, `order 1 for animal 1: cancelled .*`)
	a.wantError("change_order", cancel, shop.PreconditionFailed)
	undo := fmt.Sprintf(`{"id":1,"version":%q}`, version(t, cancelled))
	undone := a.want("undo_order", undo, `order 1 for animal 1: placed .*`)
	a.wantError("undo_order", undo, shop.PreconditionFailed)
	a.wantError("undo_order", fmt.Sprintf(`{"id":1,"version":%q}`, version(t, undone)), shop.UndoNotPossible)
	a.want("change_order", fmt.Sprintf(`{"id":1,"version":%q,"status":"cancelled"}`, version(t, undone)), `order 1 for animal 1: cancelled .*`)
	a.want("place_order", order, regexp.QuoteMeta(textOf(placed)))
	s.do("GET", "/v1/pets", "").want(t, 200, `[{"id":1,"name":"Max","categoryId":1,"status":"available"}]`)
}

// toolScopes contains, for each tool, the scope that it needs and valid arguments.
var toolScopes = map[string]struct {
	scope     shop.Scope
	arguments string
}{
	"find_animals":    {shop.PetsRead, `{}`},
	"get_animal":      {shop.PetsRead, `{"id":1}`},
	"count_animals":   {shop.PetsRead, `{}`},
	"list_categories": {shop.PetsRead, `{}`},
	"add_animal":      {shop.PetsWrite, `{"name":"Rex","categoryId":1,"idempotencyKey":"a-key-for-this"}`},
	"change_animal":   {shop.PetsWrite, `{"id":1,"version":"*","name":"Rex"}`},
	"update_profile":  {shop.PetsWrite, `{"id":1,"version":"*","color":"red"}`},
	"publish_animal":  {shop.PetsWrite, `{"id":1,"version":"*","published":true}`},
	"find_orders":     {shop.OrdersRead, `{}`},
	"get_order":       {shop.OrdersRead, `{"id":1}`},
	"place_order":     {shop.OrdersWrite, `{"animalId":1,"idempotencyKey":"a-key-for-that"}`},
	"change_order":    {shop.OrdersWrite, `{"id":1,"version":"*","status":"approved"}`},
	"undo_order":      {shop.OrdersWrite, `{"id":1,"version":"*"}`},
	"recent_activity": {shop.EventsRead, `{}`},
}

// A key sees only the tools that its scopes allow. A call to any other tool is refused with insufficient_scope, as in
// the rest of the API.
func TestToolsFollowTheScopesOfTheKey(t *testing.T) {
	s := parallelShop(t)
	s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
	s.do("POST", "/v1/store/orders", `{"petId":1}`).want(t, 201, "")
	for _, scope := range shop.Scopes() {
		key := s.key(scope)
		a := s.assistant(t, key, "")
		tools := a.tools()
		for name, needs := range toolScopes {
			if scope == needs.scope || scope == shop.Admin {
				if tools[name] == nil {
					t.Errorf("%s does not see %s", scope, name)
				}
				if got := a.call(name, needs.arguments); got.IsError && got.Meta["animalstore/code"] == string(shop.InsufficientScope) {
					t.Errorf("%s may not call %s: %s", scope, name, textOf(got))
				}
				delete(tools, name)
				continue
			}
			got := s.do("POST", mcpPath, toolCall(name, needs.arguments), acceptMCP, bearing(key))
			got.wantError(t, 403, shop.InsufficientScope)
			got.wantHeaders(t, "WWW-Authenticate: "+realm+`, error="insufficient_scope", scope="`+string(needs.scope)+`"`)
		}
		if len(tools) > 0 {
			t.Errorf("%s also sees %v", scope, tools)
		}
	}
	// get_animal needs only the pets:read scope. It shows orders and events only if the key may read them.
	a := s.assistant(t, s.key(shop.PetsRead), "")
	a.want("get_animal", `{"id":1}`, `animal 1: "Rex", category 1, pending, version [^\n]*
profile: published false, profileVersion [^\n]*`)
}

func toolCall(name, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments)
}

// Every tool tells a model what it does, what it needs, and whether it changes anything.
func TestToolsDescribeThemselves(t *testing.T) {
	s := parallelShop(t)
	manual := string(shoptest.Must(os.ReadFile("../../docs/assistants.md"))(t))
	for name, tool := range s.assistant(t, adminKey, "").tools() {
		var input, output jsonschema.Schema
		shoptest.OK(t, json.Unmarshal(encode(tool.InputSchema), &input))
		shoptest.OK(t, json.Unmarshal(encode(tool.OutputSchema), &output))
		if len(tool.Description) < 40 || tool.Title == "" || len(output.Properties) == 0 {
			t.Errorf("%s: %s", name, encode(tool))
		}
		for member, schema := range input.Properties {
			if schema.Description == "" {
				t.Errorf("%s: the argument %s has no description", name, member)
			}
		}
		scope := string(toolScopes[name].scope)
		if !strings.Contains(manual, fmt.Sprintf("| `%s` | `%s` | ", name, scope)) {
			t.Errorf("docs/assistants.md has no row for %s", name)
		}
		isRead, isChange := strings.HasSuffix(scope, ":read"), slices.Contains([]string{"change_animal", "change_order", "undo_order", "update_profile", "publish_animal"}, name)
		hints := tool.Annotations
		if hints.ReadOnlyHint != isRead || *hints.DestructiveHint != isChange || !hints.IdempotentHint || *hints.OpenWorldHint {
			t.Errorf("%s: %s", name, encode(hints))
		}
		once := slices.Contains(input.Required, "idempotencyKey") || slices.Contains(input.Required, "version")
		if once == isRead {
			t.Errorf("%s: the arguments %v make repeating it safe: %v", name, input.Required, once)
		}
	}
}

// The arguments of a tool are checked strictly, and a refused call changes nothing.
func TestInvalidToolArgumentsAreRefused(t *testing.T) {
	s := parallelShop(t)
	a := s.assistant(t, adminKey, "")
	for call, code := range map[string]shop.Code{
		`find_animals {"status":"gone"}`:                                            shop.ValidationFailed,
		`find_animals {"limit":0}`:                                                  shop.ValidationFailed,
		`find_animals {"limit":51}`:                                                 shop.ValidationFailed,
		`find_animals {"limit":"5"}`:                                                shop.ValidationFailed,
		`find_animals {"categoryId":7.5}`:                                           shop.ValidationFailed,
		`find_animals {"cursor":"nonsense"}`:                                        shop.InvalidCursor,
		`find_animals {"nonsense":1}`:                                               shop.ValidationFailed,
		`find_animals {"text":" "}`:                                                 shop.InvalidParameter,
		`get_animal {}`:                                                             shop.ValidationFailed,
		`get_animal {"id":"1"}`:                                                     shop.ValidationFailed,
		`get_animal {"id":null}`:                                                    shop.ValidationFailed,
		`get_animal {"id":9223372036854775808}`:                                     shop.ValidationFailed,
		`get_animal {"id":99}`:                                                      shop.NotFound,
		`get_order {"id":-1}`:                                                       shop.NotFound,
		`add_animal {"name":"Rex","categoryId":1}`:                                  shop.ValidationFailed,
		`add_animal {"name":"Rex","categoryId":1,"idempotencyKey":"short"}`:         shop.ValidationFailed,
		`add_animal {"name":"","categoryId":1,"idempotencyKey":"long enough"}`:      shop.ValidationFailed,
		`add_animal {"name":"Rex\n","categoryId":1,"idempotencyKey":"long enough"}`: shop.ValidationFailed,
		`add_animal {"name":"Rex","categoryId":1,"idempotencyKey":"schlüssel"}`:     shop.ValidationFailed,
		`change_animal {"id":1,"name":"Rex"}`:                                       shop.ValidationFailed,
		`change_animal {"id":1,"name":"Rex","version":"\" \""}`:                     shop.ValidationFailed,
		`change_animal {"id":99,"name":"Rex","version":"x"}`:                        shop.NotFound,
		`place_order {"animalId":99,"idempotencyKey":"long enough"}`:                shop.PetNotFound,
		`change_order {"id":1,"version":"x","status":"placed"}`:                     shop.ValidationFailed,
		`change_order {"id":1,"version":"x","holdExpiresAt":"tomorrow"}`:            shop.ValidationFailed,
		`recent_activity {"type":"pet.sold"}`:                                       shop.InvalidParameter,
		`recent_activity {"since":"yesterday"}`:                                     shop.ValidationFailed,
		`recent_activity {"actor":"somebody"}`:                                      shop.InvalidParameter,
		`list_categories {"text":7}`:                                                shop.ValidationFailed,
		`count_animals {"by":"category"}`:                                           shop.ValidationFailed,
		`find_orders {"animalId":0}`:                                                shop.ValidationFailed,
		`find_orders {"text":"` + strings.Repeat("x", 201) + `"}`:                   shop.InvalidParameter,
	} {
		name, arguments, _ := strings.Cut(call, " ")
		a.wantError(name, arguments, code)
	}
	if got := s.snapshot(); got != newShop(t).snapshot() {
		t.Errorf("a refused call changed something: %s", got)
	}
	s.do("POST", "/v1/pets", `{"name":"Rex","categoryId":9007199254740993}`).want(t, 201, "")
	a.want("find_animals", `{"categoryId":9007199254740993,"status":null}`, `1 animal\nanimal 1: "Rex", category 9007199254740993, no status`)
	exact := s.do("POST", mcpPath, toolCall("get_animal", `{"id":1}`), "Accept: */*")
	if !strings.Contains(string(exact.body), `"structuredContent":{"animal":{"id":1,"name":"Rex","categoryId":9007199254740993}`) {
		t.Errorf("got %s, want the exact category", exact.body)
	}
}

// A request that a tool sends to the API counts as a request of the assistant's key in the rate limit, the
// metrics, the log and the event feed.
func TestToolCallCountsAsRequestOfItsKey(t *testing.T) {
	s := parallelShop(t, func(c *Config) { c.Limits = web.NewLimits(1) })
	start := time.Now()
	var passed atomic.Int64 // the rate limiter's clock stands still until the test moves it forward
	s.api.Limits.RequestRate.Now = func() time.Time { return start.Add(time.Duration(passed.Load())) }
	key := s.Key(t, shop.PetsWrite)
	call := func(n int) testResponse {
		return s.do("POST", mcpPath, toolCall("add_animal", fmt.Sprintf(`{"name":"Rex","categoryId":1,"idempotencyKey":"animal no %d"}`, n)),
			acceptMCP, bearing(key.Secret), "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	}
	got := call(1).want(t, 200, "")
	got.wantHeaders(t, `RateLimit: "default";r=1;t=1`)
	call(2).wantError(t, 429, shop.RateLimited) // the message and the tool's request both count towards the limit
	events := s.do("GET", "/v1/events?type=pet.created", "").body
	if want := fmt.Sprintf(`"actor":"keys/%d"`, key.ID); !strings.Contains(string(events), want) {
		t.Errorf("got %s, want %s", events, want)
	}
	lines := regexp.MustCompile(`level=INFO msg=request .* path=(\S+) operation=(\S+) status=20\d .* key=keys/1 trace_id=0af7651916cd43dd8448eb211c80319c`).
		FindAllStringSubmatch(s.log.String(), -1)
	if len(lines) != 2 || lines[0][1]+" "+lines[0][2] != "/v1/pets createPet" || lines[1][1]+" "+lines[1][2] != "/mcp mcp" {
		t.Errorf("the log has %q", lines)
	}
	metrics := string(s.do("GET", "/metrics", "").body)
	for _, want := range []string{
		`animalstore_http_requests_total{operation="createPet",status="201"} 1`,
		`animalstore_http_requests_total{operation="mcp",status="200"} 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("/metrics does not have %s", want)
		}
	}
	// If a tool's request exceeds the rate limit, the tool fails and says how long to wait.
	passed.Add(int64(time.Second))
	inner := call(3).want(t, 200, "")
	if !strings.Contains(string(inner.body), "rate_limited") || !strings.Contains(string(inner.body), "Try again in 1s.") {
		t.Errorf("got %s", inner.body)
	}
}

// A node processes only one message of a key at a time, so that a key does not delay the messages of other keys. The
// number of messages of all keys together is limited, too. A message that waits too long for its turn is refused.
func TestToolCallsTakeTurnsByKey(t *testing.T) {
	t.Parallel()
	patient, hasty := newShop(t), newShop(t)
	for s, wait := range map[*testShop]time.Duration{patient: time.Hour, hasty: time.Millisecond} {
		limit := admission.ToolCalls.Limit()
		limit.Wait = wait
		s.api.Limits.Replace(admission.ToolCalls, limit)
	}
	call := func(s *testShop, key string) testResponse {
		return s.do("POST", mcpPath, toolCall("count_animals", "{}"), "Accept: */*", bearing(key))
	}
	occupy := func(s *testShop, key string) {
		principal := shoptest.Must(s.Authenticate(t.Context(), key))(t)
		shoptest.Must(s.api.Limits.Acquire(t.Context(), admission.ToolCalls, principal))(t)
	}
	occupy(patient, patient.key(shop.PetsRead))
	call(patient, patient.key(shop.PetsRead)).want(t, 200, "")

	busy := hasty.key(shop.PetsRead)
	occupy(hasty, busy)
	call(hasty, busy).wantError(t, 429, shop.RateLimited)
	for range admission.ToolCalls.Limit().Total - 1 {
		occupy(hasty, hasty.key(shop.PetsRead))
	}
	call(hasty, hasty.key(shop.PetsRead)).wantError(t, 429, shop.RateLimited)
}

// Every version of the protocol that the SDK supports works without sessions.
func TestEveryProtocolVersionWorks(t *testing.T) {
	s := parallelShop(t)
	for _, protocol := range sdk.SupportedProtocolVersions() {
		a := s.assistant(t, adminKey, protocol)
		if tools := a.tools(); len(tools) != len(toolScopes) {
			t.Errorf("%s: got %d tools, want %d", protocol, len(tools), len(toolScopes))
		}
		a.want("count_animals", "{}", "0 available, .*")
		if a.ID() != "" {
			t.Errorf("%s: got the session %s", protocol, a.ID())
		}
	}
}

// If the store cannot be read, the result of a tool is an error that says so.
func TestToolReportsAnUnavailableStore(t *testing.T) {
	s := parallelShop(t)
	a := s.assistant(t, adminKey, "") // the configured key is not read from the store
	s.Store.FailWith(func(bool) error { return shop.UnavailableError(errSecret) })
	a.wantError("count_animals", "{}", shop.Unavailable)
	s.Store.FailWith(nil)
	a.want("count_animals", "{}", "0 available, .*")
}

// An assistant writes a profile, finds the animal by it, and publishes it with a tool of its own.
func TestAssistantWritesProfiles(t *testing.T) {
	s := parallelShop(t)
	s.add(`{"name":"Rex","categoryId":7}`)
	s.add(`{"name":"Beagle","categoryId":7}`)
	a := s.assistant(t, s.key(shop.PetsRead, shop.PetsWrite), "")
	_, empty, _ := strings.Cut(textOf(a.call("get_animal", `{"id":1}`)), ", profileVersion ")
	change := fmt.Sprintf(`{"id":1,"version":%q,"breeds":["Beagle"],"sex":"male","size":"medium","tags":["Calm"],"price":{"amount":"250.00","currency":"EUR"}}`, empty)
	written := a.want("update_profile", change, `animal 1: "Rex", category 7, no status, version [^\n]*
profile: breeds \["Beagle"\], price \{"amount":"250.00","currency":"EUR"\}, published false, sex "male", size "medium", tags \["Calm"\]`)
	a.wantError("update_profile", change, shop.PreconditionFailed)
	a.want("find_animals", `{"breed":"beagle"}`, `1 animal\nanimal 1: .*`)
	a.want("find_animals", `{"sex":"male","size":"medium","tag":"calm"}`, `1 animal\nanimal 1: .*`)
	a.want("find_animals", `{"sex":"female"}`, `0 animals`)
	a.want("publish_animal", fmt.Sprintf(`{"id":1,"version":%q,"published":true}`, version(t, written)), `(?s)animal 1: .* published true, .*`)
	a.wantError("publish_animal", fmt.Sprintf(`{"id":1,"version":%q,"published":false}`, empty), shop.PreconditionFailed)
}

// An empty list removes breeds and tags. What cannot be removed, or is set and removed, is refused.
func TestAssistantRemovesMembersOfProfiles(t *testing.T) {
	s := parallelShop(t)
	s.add(`{"name":"Rex","categoryId":7}`)
	a := s.assistant(t, s.key(shop.PetsRead, shop.PetsWrite), "")
	arguments := func(change string) string {
		_, current, _ := strings.Cut(textOf(a.call("get_animal", `{"id":1}`)), ", profileVersion ")
		return fmt.Sprintf(`{"id":1,"version":%q,%s}`, current, change)
	}
	a.want("update_profile", arguments(`"breeds":["Beagle"],"tags":["Calm"],"color":"red","mixed":true,"traits":{"neutered":true,"vaccinated":true}`), `(?s).*`)
	for _, change := range []string{
		`"mixed":true,"remove":["mixed.x"]`, `"color":"blue","remove":["color"]`, `"traits":{"neutered":true},"remove":["traits"]`,
		`"remove":["colour"]`, `"remove":["notes"]`, `"remove":["published"]`, `"remove":["traits.x"]`,
	} {
		a.wantError("update_profile", arguments(change), shop.ValidationFailed)
	}
	a.want("update_profile", arguments(`"breeds":[],"tags":[],"remove":["traits.neutered","color"]`),
		`animal 1: .*\nprofile: mixed true, published false, traits \{"vaccinated":true\}`)
	a.want("update_profile", arguments(`"remove":["traits","traits.vaccinated","mixed"]`), `animal 1: .*\nprofile: published false`)
}

// get_animal names the photos of an animal in their order: their URLs, and what they show.
func TestAssistantSeesPhotos(t *testing.T) {
	s := parallelShop(t)
	s.add(`{"name":"Rex","categoryId":7}`)
	for range 2 {
		s.do("POST", "/v1/pets/1/photos", image(t, "rex.png"), "Content-Type: image/png").want(t, 201, "")
	}
	s.do("PATCH", "/v1/pets/1/photos/2", `{"alt":"Rex asleep","position":1}`).want(t, 200, "")
	a := s.assistant(t, s.key(shop.PetsRead), "")
	shown := a.want("get_animal", `{"id":1}`, `animal 1: "Rex", category 7, no status, version [^\n]*
profile: published false, profileVersion [^\n]*
photo 1: /photos/[0-9a-f]{32}-large.jpg, 64 × 48, "Rex asleep"
photo 2: /photos/[0-9a-f]{32}-large.jpg, 64 × 48`)
	if structured := string(shoptest.Must(json.Marshal(shown.StructuredContent))(t)); strings.Count(structured, "-small.jpg") != 2 || !strings.Contains(structured, `"alt":"Rex asleep"`) {
		t.Errorf("the structured content is %s, want the files and the texts of both photos", structured)
	}
}
