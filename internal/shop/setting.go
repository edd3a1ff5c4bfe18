package shop

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Kind says whether animals are sold or given to adopters. It decides the words on the staff pages.
type Kind string

const (
	KindShop    Kind = "shop"
	KindShelter Kind = "shelter"
)

// Kinds returns every kind of store.
func Kinds() []Kind { return []Kind{KindShop, KindShelter} }

// Settings is what the shop says about itself. Fields with their zero value are absent, except for Kind, which is always
// set.
type Settings struct {
	Name     string   `json:"name,omitempty"`
	Phone    string   `json:"phone,omitempty"`
	Email    string   `json:"email,omitempty"`
	Address  []string `json:"address,omitempty"` // lines
	Website  string   `json:"website,omitempty"`
	Currency string   `json:"currency,omitempty"` // a code of ISO 4217, for amounts that are typed without one
	TimeZone string   `json:"timeZone,omitempty"` // replaces Options.Location
	Kind     Kind     `json:"kind"`
	Window   Window   `json:"window"`
}

// Window is what the shop says about its public window.
type Window struct {
	Enabled      bool     `json:"enabled"`
	Title        string   `json:"title,omitempty"`
	Introduction string   `json:"introduction,omitempty"` // may have several lines
	EmbedOrigins []string `json:"embedOrigins,omitempty"` // the sites that may show the window in a frame
}

// DefaultSettings returns the settings of a shop that has not set any.
func DefaultSettings() Settings { return Settings{Kind: KindShop} }

func (Settings) subject() string { return "store" }

// ETag returns an entity tag that changes whenever the settings change.
func (s Settings) ETag() string { return EntityTag(encode(s)) }

// sameAs reports whether two settings have the same values.
func (s Settings) sameAs(other Settings) bool { return bytes.Equal(encode(s), encode(other)) }

// SettingsChange is a partial update of the settings. Fields that are nil are not changed. The zero value of a field
// removes the member.
type SettingsChange struct {
	Name     *string
	Phone    *string
	Email    *string
	Address  *[]string
	Website  *string
	Currency *string
	TimeZone *string
	Kind     *Kind
	Window   WindowChange
}

// Change returns the change that gives any settings the values of s.
func (s Settings) Change() SettingsChange {
	w := &s.Window
	return SettingsChange{
		&s.Name, &s.Phone, &s.Email, &s.Address, &s.Website, &s.Currency, &s.TimeZone, &s.Kind,
		WindowChange{&w.Enabled, &w.Title, &w.Introduction, &w.EmbedOrigins},
	}
}

// WindowChange is a partial update of the window.
type WindowChange struct {
	Enabled      *bool
	Title        *string
	Introduction *string
	EmbedOrigins *[]string
}

// apply returns a copy of the settings with the change applied.
func (c SettingsChange) apply(s Settings) Settings {
	replace(&s.Name, c.Name)
	replace(&s.Phone, c.Phone)
	replace(&s.Email, c.Email)
	replace(&s.Address, c.Address)
	replace(&s.Website, c.Website)
	replace(&s.Currency, c.Currency)
	replace(&s.TimeZone, c.TimeZone)
	replace(&s.Kind, c.Kind)
	replace(&s.Window.Enabled, c.Window.Enabled)
	replace(&s.Window.Title, c.Window.Title)
	replace(&s.Window.Introduction, c.Window.Introduction)
	replace(&s.Window.EmbedOrigins, c.Window.EmbedOrigins)
	s.Window.Introduction = unixLines(s.Window.Introduction)
	return s
}

// Problems validates the members that the change sets.
func (c SettingsChange) Problems() Problems { return c.apply(DefaultSettings()).Problems() }

// The limits of the settings, in code points and items.
const (
	maxAddressLines = 5
	maxWebsite      = 500
	maxIntroduction = 2000
	maxEmbedOrigins = 20
)

// Problems validates the settings.
func (s Settings) Problems() (problems Problems) {
	check := func(member string, problem func(string) string, most int, values ...string) {
		if len(values) > most {
			problems.Add(member, fmt.Sprintf("must have at most %d items", most))
		}
		for _, value := range values {
			if reason := problem(value); reason != "" && (value != "" || most > 1) {
				problems.Add(member, reason)
			}
		}
	}
	check("name", TextProblem, 1, s.Name)
	check("phone", TextProblem, 1, s.Phone)
	check("email", EmailProblem, 1, s.Email)
	check("address", TextProblem, maxAddressLines, s.Address...)
	check("website", WebsiteProblem, 1, s.Website)
	check("currency", CurrencyProblem, 1, s.Currency)
	check("timeZone", TimeZoneProblem, 1, s.TimeZone)
	if reason := KindProblem(string(s.Kind)); reason != "" {
		problems.Add("kind", reason)
	}
	check("window.title", TextProblem, 1, s.Window.Title)
	check("window.introduction", IntroductionProblem, 1, s.Window.Introduction)
	check("window.embedOrigins", EmbedOriginProblem, maxEmbedOrigins, s.Window.EmbedOrigins...)
	return problems
}

// EmailProblem explains why an address for e-mail sent by a client is invalid. It returns "" if it is valid.
func EmailProblem(s string) string {
	if reason := TextProblem(s); reason != "" {
		return reason
	}
	if before, after, _ := strings.Cut(s, "@"); before == "" || after == "" || strings.Contains(after, "@") {
		return "must have one @ with text on both sides"
	}
	return ""
}

// WebsiteProblem explains why the URL of a website sent by a client is invalid. It returns "" if the URL is valid.
func WebsiteProblem(s string) string {
	if reason := textProblem(s, maxWebsite); reason != "" {
		return reason
	}
	if !strings.HasPrefix(s, "https:") || !contactURLs.MatchString(s) {
		return "must be an https: URL"
	}
	return ""
}

// CurrencyProblem explains why a currency sent by a client is invalid. It returns "" if the currency is valid.
func CurrencyProblem(s string) string {
	if _, known := currencyDigits(s); !known {
		return "must be a currency code of ISO 4217, such as EUR"
	}
	return ""
}

// TimeZoneProblem explains why a time zone sent by a client is invalid. It returns "" if the time zone is valid.
func TimeZoneProblem(s string) string {
	if _, err := time.LoadLocation(s); err != nil || s == "" || s == "Local" {
		return "must be the name of a time zone, such as Europe/Berlin or UTC"
	}
	return ""
}

// KindProblem explains why a kind sent by a client is invalid. It returns "" if the kind is valid.
func KindProblem(s string) string { return choiceProblem(Kind(s), Kinds()) }

// IntroductionProblem explains why an introduction sent by a client is invalid. It returns "" if it is valid.
func IntroductionProblem(s string) string {
	return textProblem(strings.ReplaceAll(unixLines(s), "\n", " "), maxIntroduction)
}

// embedOrigins is the pattern of the origins that may embed the window. They become part of a header.
var embedOrigins = regexp.MustCompile(`^https://[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:[0-9]{1,5})?$`)

// EmbedOriginProblem explains why an origin sent by a client is invalid. It returns "" if the origin is valid.
func EmbedOriginProblem(s string) string {
	if reason := TextProblem(s); reason != "" {
		return reason
	}
	if !embedOrigins.MatchString(s) {
		return "must be https://, a host and perhaps a port, such as https://www.example.com"
	}
	return ""
}

// Settings returns the shop's settings.
func (s *Service) Settings(ctx context.Context) (Settings, error) {
	return read(ctx, s, Reading{SingleQuery: true}, ReadTx.Settings)
}

// UpdateSettings changes the shop's settings. It fails with precondition_failed or validation_failed. Other nodes use the
// new settings within a second.
func (s *Service) UpdateSettings(ctx context.Context, by Caller, change SettingsChange, match Precondition[Settings]) (Settings, error) {
	settings, err := write(ctx, s, Writing{By: by}, func(tx *eventTx) (Settings, error) {
		before, err := tx.Settings()
		if err != nil {
			return Settings{}, err
		}
		if err := match.check(before); err != nil {
			return Settings{}, err
		}
		after := change.apply(before)
		if err := after.Problems().Err(); err != nil {
			return Settings{}, err
		}
		if after.sameAs(before) {
			return before, nil
		}
		return after, tx.UpdateSettings(before, after)
	})
	if err == nil {
		s.current.set(settings, time.Now())
	}
	return settings, err
}

// CurrentSettings returns the settings as this node knows them. They may be up to a second old.
func (s *Service) CurrentSettings() Settings { return s.current.get().Settings }

// RefreshSettings reads the settings, which another node may have changed.
func (s *Service) RefreshSettings(ctx context.Context) error {
	start := time.Now()
	settings, err := s.Settings(ctx)
	if err == nil {
		s.current.set(settings, start)
	}
	return err
}

// PresetLocation returns the time zone that applies if the settings have none.
func (s *Service) PresetLocation() *time.Location { return s.current.preset }

// currentSettings keeps the settings that this node knows, so that a page needs no query for them.
type currentSettings struct {
	mu     sync.Mutex
	preset *time.Location // the time zone if the settings have none
	known  knownSettings
}

// knownSettings are settings together with the time zone that follows from them.
type knownSettings struct {
	Settings
	location  *time.Location
	readAfter time.Time // a time at which they were current, or just before it
}

func (c *currentSettings) get() knownSettings {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known
}

// set replaces the settings unless those known were read later.
func (c *currentSettings) set(settings Settings, readAfter time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if readAfter.Before(c.known.readAfter) {
		return
	}
	c.known = knownSettings{settings, c.locationLocked(settings), readAfter}
}

// locationOf returns the time zone that follows from settings.
func (c *currentSettings) locationOf(settings Settings) *time.Location {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.locationLocked(settings)
}

// locationLocked is like locationOf. The caller must hold the lock.
func (c *currentSettings) locationLocked(settings Settings) *time.Location {
	if settings.TimeZone == c.known.TimeZone && c.known.location != nil {
		return c.known.location
	}
	// A time zone that only another node's database of time zones contains is ignored.
	if zone, err := time.LoadLocation(settings.TimeZone); err == nil && settings.TimeZone != "" {
		return zone
	}
	return c.preset
}

func newCurrentSettings(preset *time.Location) *currentSettings {
	preset = cmp.Or(preset, time.UTC)
	return &currentSettings{preset: preset, known: knownSettings{DefaultSettings(), preset, time.Time{}}}
}

// SettingsMutations contains the methods of Mutations that change the shop's settings.
type SettingsMutations interface {
	// UpdateSettings replaces the settings.
	UpdateSettings(before, after Settings) error
}
