package client

import (
	"context"
	"encoding/json"
	"net/http"
)

// StoreKind says whether a store sells animals or gives them to adopters. Later versions may add values.
type StoreKind string

const (
	KindShop    StoreKind = "shop"
	KindShelter StoreKind = "shelter"
)

// Store is what a store says about itself. Fields with their zero value are not set.
type Store struct {
	Name     string    `json:"name,omitempty"`
	Phone    string    `json:"phone,omitempty"`
	Email    string    `json:"email,omitempty"`
	Address  []string  `json:"address,omitempty"` // lines
	Website  string    `json:"website,omitempty"`
	Currency string    `json:"currency,omitempty"` // a code of ISO 4217, such as EUR
	TimeZone string    `json:"timeZone,omitempty"` // such as Europe/Berlin; empty if the operator's setting applies
	Kind     StoreKind `json:"kind"`
	Window   Window    `json:"window"`
	// ETag identifies the current state of the store for use with [IfMatch].
	ETag string `json:"-"`
}

// Window is what a store says about its public window.
type Window struct {
	Enabled      bool     `json:"enabled"`
	Title        string   `json:"title,omitempty"`
	Introduction string   `json:"introduction,omitempty"` // may have several lines
	EmbedOrigins []string `json:"embedOrigins,omitempty"` // the sites that may show the window in a frame, such as https://www.example.com
}

// StoreUpdate describes a change to a store. Fields that are nil stay unchanged. Address replaces all earlier lines.
type StoreUpdate struct {
	Name     *string       `json:"name,omitempty"`
	Phone    *string       `json:"phone,omitempty"`
	Email    *string       `json:"email,omitempty"`
	Address  []string      `json:"address,omitempty"`
	Website  *string       `json:"website,omitempty"`
	Currency *string       `json:"currency,omitempty"`
	TimeZone *string       `json:"timeZone,omitempty"`
	Kind     *StoreKind    `json:"kind,omitempty"`
	Window   *WindowUpdate `json:"window,omitempty"`
	// Remove contains the names of the members to remove in JSON, such as "phone" or "window.title".
	Remove []string `json:"-"`
}

// WindowUpdate describes a change to a window. Fields that are nil stay unchanged. EmbedOrigins replaces all earlier
// origins.
type WindowUpdate struct {
	Enabled      *bool    `json:"enabled,omitempty"`
	Title        *string  `json:"title,omitempty"`
	Introduction *string  `json:"introduction,omitempty"`
	EmbedOrigins []string `json:"embedOrigins,omitempty"`
}

// MarshalJSON encodes the update as a JSON Merge Patch.
func (u StoreUpdate) MarshalJSON() ([]byte, error) {
	type plain StoreUpdate
	text, err := json.Marshal(plain(u))
	return removeMembers(text, err, u.Remove)
}

// GetStore returns what the store says about itself, and its ETag. It works with any API key.
func (c *Client) GetStore(ctx context.Context) (store Store, err error) {
	got, err := c.get(ctx, "/store", nil, &store)
	store.ETag = got.header.Get("ETag")
	return store, err
}

// UpdateStore changes what the store says about itself and returns its new state. It needs an API key with the admin scope.
// It fails with [CodePreconditionFailed] if a condition is not met.
func (c *Client) UpdateStore(ctx context.Context, u StoreUpdate, conditions ...Condition) (store Store, err error) {
	r := request{method: http.MethodPatch, path: "/store", body: u}
	got, err := c.do(ctx, r.withConditions(conditions), &store)
	store.ETag = got.header.Get("ETag")
	return store, err
}
