package client

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"time"
)

// Scope is a permission of a key.
type Scope string

const (
	ScopePetsRead    Scope = "pets:read" // animals, categories, the inventory
	ScopePetsWrite   Scope = "pets:write"
	ScopeOrdersRead  Scope = "orders:read"
	ScopeOrdersWrite Scope = "orders:write"
	ScopeEventsRead  Scope = "events:read"
	ScopeAdmin       Scope = "admin" // everything, including keys and webhooks
)

// DefaultOverlap is a common choice for how long an old secret keeps working after a rotation.
const DefaultOverlap = 24 * time.Hour

// ErrSecretLost is returned with a key or webhook that was created or rotated, but whose secret was in a
// response that got lost: the service shows a secret only once. [Client.RotateKey] and [Client.RotateWebhook]
// replace it.
var ErrSecretLost = errors.New("animalstore: the secret was in a response that got lost; rotate it to get a new one")

// Key is an API key.
type Key struct {
	ID         int64     `json:"id"`
	Name       string    `json:"name"`
	Scopes     []Scope   `json:"scopes"`
	Hint       string    `json:"hint"` // the last four characters of its secret
	CreatedAt  time.Time `json:"createdAt"`
	ExpiresAt  time.Time `json:"expiresAt,omitzero"`  // zero: never
	LastUsedAt time.Time `json:"lastUsedAt,omitzero"` // zero: never; accurate to a minute
	// Secret is the API key for [New]. Only CreateKey and RotateKey return it; it cannot be read later.
	Secret string `json:"key,omitempty"`
}

// NewKey describes a key to create.
type NewKey struct {
	Name      string    `json:"name"`
	Scopes    []Scope   `json:"scopes"`
	ExpiresAt time.Time `json:"expiresAt,omitzero"` // zero: never
}

// Keys iterates over all keys, newest first. It ends with the first error.
func (c *Client) Keys(ctx context.Context) iter.Seq2[Key, error] {
	return all[Key](ctx, c, "/keys", byCursor, pageQuery(0, ""))
}

// CreateKey creates a key and returns it with its secret, or with [ErrSecretLost].
func (c *Client) CreateKey(ctx context.Context, n NewKey, options ...PostOption) (Key, error) {
	return c.issueKey(ctx, "/keys", n, options)
}

// CurrentKey returns the key that this client uses.
func (c *Client) CurrentKey(ctx context.Context) (key Key, err error) {
	_, err = c.get(ctx, "/keys/current", nil, &key)
	return key, err
}

// RotateKey gives a key a new secret and returns it, or [ErrSecretLost]. The old secret keeps working for the
// overlap, rounded up to a second; see [DefaultOverlap]. It fails with [CodeNotFound].
func (c *Client) RotateKey(ctx context.Context, id int64, overlap time.Duration, options ...PostOption) (Key, error) {
	return c.issueKey(ctx, pathOf("/keys", id)+"/rotate", newRotation(overlap), options)
}

// rotation is the request body of a rotation.
type rotation struct {
	OverlapSeconds int64 `json:"overlapSeconds"`
}

func newRotation(overlap time.Duration) rotation {
	seconds := int64(overlap / time.Second)
	if overlap%time.Second > 0 {
		seconds++
	}
	return rotation{seconds}
}

func (c *Client) issueKey(ctx context.Context, path string, body any, options []PostOption) (key Key, err error) {
	_, err = c.post(ctx, path, body, options, &key)
	if err == nil && key.Secret == "" {
		err = ErrSecretLost
	}
	return key, err
}

// RevokeKey revokes a key: within a second every node refuses it. It fails with [CodeNotFound], and with
// [CodeLastAdminKey] for the last key with the admin scope.
func (c *Client) RevokeKey(ctx context.Context, id int64) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: pathOf("/keys", id)}, nil)
	return err
}
