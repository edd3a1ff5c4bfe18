package shop_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

func TestSettingsAreValidated(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 200)
	lines := func(n int) []string { return strings.Split(strings.Repeat("a ", n-1)+"a", " ") }
	origins := func(n int) (list []string) {
		for range n {
			list = append(list, "https://a.example")
		}
		return list
	}
	for name, c := range map[string]struct {
		settings shop.Settings
		want     string // the problem, or "" if the settings are valid
	}{
		"empty":                     {},
		"longest name":              {shop.Settings{Name: long, Phone: long}, ""},
		"name too long":             {shop.Settings{Name: long + "a"}, "name must have 1 to 200 characters, not 201"},
		"line in a phone number":    {shop.Settings{Phone: "1\n2"}, "phone must not contain control characters (U+0000 to U+001F, U+007F)"},
		"e-mail":                    {shop.Settings{Email: "shop@example.com"}, ""},
		"e-mail without @":          {shop.Settings{Email: "example.com"}, "email must have one @ with text on both sides"},
		"e-mail with two @":         {shop.Settings{Email: "a@b@c"}, "email must have one @ with text on both sides"},
		"e-mail of nobody":          {shop.Settings{Email: "@example.com"}, "email must have one @ with text on both sides"},
		"five lines":                {shop.Settings{Address: lines(5)}, ""},
		"six lines":                 {shop.Settings{Address: lines(6)}, "address must have at most 5 items"},
		"empty line":                {shop.Settings{Address: []string{"a", ""}}, "address must have 1 to 200 characters, not 0"},
		"website":                   {shop.Settings{Website: "https://example.com:8443/a?b#c"}, ""},
		"longest website":           {shop.Settings{Website: "https://example.com/" + strings.Repeat("a", 480)}, ""},
		"website too long":          {shop.Settings{Website: "https://example.com/" + strings.Repeat("a", 481)}, "website must have 1 to 500 characters, not 501"},
		"website without TLS":       {shop.Settings{Website: "http://example.com"}, "website must be an https: URL"},
		"website that is a mailbox": {shop.Settings{Website: "mailto:shop@example.com"}, "website must be an https: URL"},
		"website that is a script":  {shop.Settings{Website: "javascript:alert(1)"}, "website must be an https: URL"},
		"currency":                  {shop.Settings{Currency: "JPY"}, ""},
		"unknown currency":          {shop.Settings{Currency: "eur"}, "currency must be a currency code of ISO 4217, such as EUR"},
		"time zone":                 {shop.Settings{TimeZone: "America/Argentina/Buenos_Aires"}, ""},
		"UTC":                       {shop.Settings{TimeZone: "UTC"}, ""},
		"unknown time zone":         {shop.Settings{TimeZone: "Berlin"}, "timeZone must be the name of a time zone, such as Europe/Berlin or UTC"},
		"the machine's time zone":   {shop.Settings{TimeZone: "Local"}, "timeZone must be the name of a time zone, such as Europe/Berlin or UTC"},
		"a file as time zone":       {shop.Settings{TimeZone: "../../etc/passwd"}, "timeZone must be the name of a time zone, such as Europe/Berlin or UTC"},
		"shelter":                   {shop.Settings{Kind: shop.KindShelter}, ""},
		"unknown kind":              {shop.Settings{Kind: "zoo"}, "kind must be one of shop, shelter"},
		"title too long":            {shop.Settings{Window: shop.Window{Title: long + "a"}}, "window.title must have 1 to 200 characters, not 201"},
		"introduction":              {shop.Settings{Window: shop.Window{Introduction: "a\nb\r\n" + strings.Repeat("ä", 1996)}}, ""},
		"introduction too long":     {shop.Settings{Window: shop.Window{Introduction: strings.Repeat("ä", 2001)}}, "window.introduction must have 1 to 2000 characters, not 2001"},
		"tab in an introduction":    {shop.Settings{Window: shop.Window{Introduction: "a\tb"}}, "window.introduction must not contain control characters (U+0000 to U+001F, U+007F)"},
		"origins":                   {shop.Settings{Window: shop.Window{EmbedOrigins: []string{"https://a.example", "https://B-2.example:8443", "https://10.0.0.1"}}}, ""},
		"most origins":              {shop.Settings{Window: shop.Window{EmbedOrigins: origins(20)}}, ""},
		"too many origins":          {shop.Settings{Window: shop.Window{EmbedOrigins: origins(21)}}, "window.embedOrigins must have at most 20 items"},
		"origin without TLS":        {shop.Settings{Window: shop.Window{EmbedOrigins: []string{"http://a.example"}}}, badOrigin},
		"origin with a path":        {shop.Settings{Window: shop.Window{EmbedOrigins: []string{"https://a.example/"}}}, badOrigin},
		"origin with a wildcard":    {shop.Settings{Window: shop.Window{EmbedOrigins: []string{"https://*.example"}}}, badOrigin},
		"origin with a directive":   {shop.Settings{Window: shop.Window{EmbedOrigins: []string{"https://a.example; script-src *"}}}, badOrigin},
		"origin with two dots":      {shop.Settings{Window: shop.Window{EmbedOrigins: []string{"https://a..example"}}}, badOrigin},
	} {
		if c.settings.Kind == "" {
			c.settings.Kind = shop.KindShop
		}
		equal(t, name, c.settings.Problems().String(), c.want)
	}
}

const badOrigin = "window.embedOrigins must be https://, a host and perhaps a port, such as https://www.example.com"

// A change of the settings affects only the members that it contains. It has one event, which says what was before and what
// is now, unless nothing has changed.
func TestSettingsChangesAreMerged(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *shoptest.Shop, nodes []*shop.Service) {
		ctx := t.Context()
		equal(t, "the first settings", reflect.DeepEqual(must(s.Settings(ctx))(t), shop.DefaultSettings()), true)
		all := shop.SettingsChange{
			Name: new("Paws"), Phone: new("1"), Email: new("a@b.example"), Address: &[]string{"Road", "Town"}, Website: new("https://example.com"),
			Currency: new("EUR"), TimeZone: new("UTC"), Kind: new(shop.KindShelter), Window: shop.WindowChange{
				Enabled: new(true), Title: new("Animals"), Introduction: new("Two\r\nlines"), EmbedOrigins: &[]string{"https://a.example"},
			},
		}
		want := shop.Settings{
			Name: "Paws", Phone: "1", Email: "a@b.example", Address: []string{"Road", "Town"}, Website: "https://example.com", Currency: "EUR", TimeZone: "UTC",
			Kind: shop.KindShelter, Window: shop.Window{Enabled: true, Title: "Animals", Introduction: "Two\nlines", EmbedOrigins: []string{"https://a.example"}},
		}
		for range 2 { // the second change changes nothing
			got := must(s.UpdateSettings(ctx, shop.Caller{}, all, nil))(t)
			equal(t, "the settings", reflect.DeepEqual(got, want), true)
		}
		must(s.UpdateSettings(ctx, shop.Caller{}, shop.SettingsChange{Phone: new(""), Window: shop.WindowChange{Title: new("")}}, nil))(t)
		want.Phone, want.Window.Title = "", ""
		equal(t, "the settings on another node", reflect.DeepEqual(must(nodes[1].Settings(ctx))(t), want), true)

		_, err := s.UpdateSettings(ctx, shop.Caller{}, shop.SettingsChange{Currency: new("x")}, nil)
		wantCode(t, err, shop.ValidationFailed)
		_, err = s.UpdateSettings(ctx, shop.Caller{}, shop.SettingsChange{Name: new("x")}, func(shop.Settings) bool { return false })
		wantCode(t, err, shop.PreconditionFailed)
		equal(t, "the settings after refused changes", reflect.DeepEqual(must(s.Settings(ctx))(t), want), true)

		filter := shop.EventFilter{Types: []shop.EventType{shop.StoreUpdated}}
		events := must(s.ListEvents(ctx, shop.Caller{}, filter, shop.PageRequest{Limit: 10}))(t).Items
		equal(t, "the number of events", len(events), 2)
		full := `{"name":"Paws","phone":"1","email":"a@b.example","address":["Road","Town"],"website":"https://example.com","currency":"EUR","timeZone":"UTC",` +
			`"kind":"shelter","window":{"enabled":true,"title":"Animals","introduction":"Two\nlines","embedOrigins":["https://a.example"]}}`
		shorter := strings.NewReplacer(`"phone":"1",`, "", `"title":"Animals",`, "").Replace(full)
		equal(t, "the first event", string(events[0].Data), `{"current":`+full+`,"previous":{"kind":"shop","window":{"enabled":false}}}`)
		equal(t, "the second event", string(events[1].Data), `{"current":`+shorter+`,"previous":`+full+`}`)
		equal(t, "the subject", events[0].Subject, "store")
		equal(t, "seen by everybody", shop.StoreUpdated.IsPublic(), false)
		equal(t, "seen by those who do not name it", shop.EventFilter{Known: true}.Matches(shop.StoredEvent{NewEvent: shop.NewEvent{Type: shop.StoreUpdated}}), false)
	})
}

// Of two nodes that change different members at the same time, neither loses its change.
func TestConcurrentSettingsChangesAreKept(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *shoptest.Shop, nodes []*shop.Service) {
		changes := []shop.SettingsChange{{Name: new("Paws")}, {Phone: new("1")}, {Currency: new("EUR")}}
		atOnce(len(changes), func(i int) { must(nodes[i].UpdateSettings(t.Context(), shop.Caller{}, changes[i], nil))(t) })
		want := shop.Settings{Name: "Paws", Phone: "1", Currency: "EUR", Kind: shop.KindShop}
		if got := must(s.Settings(t.Context()))(t); !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

// A day begins in the time zone of the settings. Without one, it begins in that of the node. Every node follows a change.
func TestTimeZoneOfTheSettingsIsUsedByEveryNode(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	berlin, other := shoptest.Zone("Europe/Berlin"), must(s.Node(t.Context(), shop.Options{Location: shoptest.Zone("America/New_York")}))(t)
	day := must(shop.ParseDate("2026-01-31"))(t)
	wantBegin := func(node *shop.Service, location *time.Location) {
		t.Helper()
		begin, _ := node.DayBounds(day)
		equal(t, "the begin of the day", begin.UTC(), time.Date(2026, 1, 31, 0, 0, 0, 0, location).UTC())
		equal(t, "the time zone", node.Location().String(), location.String())
	}
	wantBegin(other, shoptest.Zone("America/New_York"))
	must(s.UpdateSettings(t.Context(), shop.Caller{}, shop.SettingsChange{Name: new("Paws"), TimeZone: new("Europe/Berlin")}, nil))(t)
	wantBegin(s.Service, berlin) // at once
	check(t, other.RefreshSettings(t.Context()))
	wantBegin(other, berlin)
	equal(t, "the name on the other node", other.CurrentSettings().Name, "Paws")
	started := must(s.Node(t.Context(), shop.Options{}))(t)
	wantBegin(started, berlin)
	must(other.UpdateSettings(t.Context(), shop.Caller{}, shop.SettingsChange{TimeZone: new("")}, nil))(t)
	wantBegin(other, shoptest.Zone("America/New_York"))
}

// While the background jobs run, a node follows the changes of others.
func TestNodesFollowSettings(t *testing.T) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, s *shoptest.Shop) {
		other := must(s.Node(t.Context(), shop.Options{}))(t)
		defer runJobs(t, other)()
		must(s.UpdateSettings(t.Context(), shop.Caller{}, shop.SettingsChange{Kind: new(shop.KindShelter)}, nil))(t)
		time.Sleep(time.Second)
		equal(t, "the kind", other.CurrentSettings().Kind, shop.KindShelter)
	})
}

// The change that a settings value makes gives any settings these values.
func TestSettingsChangeReplacesEverything(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	all := shop.Settings{
		Name: "Paws", Phone: "1", Email: "a@b.example", Address: []string{"Road 1"}, Website: "https://example.com", Currency: "EUR", TimeZone: "Europe/Berlin",
		Kind: shop.KindShelter, Window: shop.Window{Enabled: true, Title: "Animals", Introduction: "Hello", EmbedOrigins: []string{"https://a.example"}},
	}
	for _, want := range []shop.Settings{all, shop.DefaultSettings()} {
		got := must(s.UpdateSettings(t.Context(), shop.Caller{}, want.Change(), nil))(t)
		equal(t, "the settings", reflect.DeepEqual(got, want), true)
	}
}
