package client

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"time"
)

// Scope is one thing that a key may do.
type Scope string

const (
	ScopePetsRead    Scope = "pets:read" // animals, categories, the inventory
	ScopePetsWrite   Scope = "pets:write"
	ScopeOrdersRead  Scope = "orders:read"
	ScopeOrdersWrite Scope = "orders:write"
	ScopeEventsRead  Scope = "events:read"
	ScopeAdmin       Scope = "admin" // everything, keys too
)

// DefaultOverlap is how long an old secret usually goes on working after a rotation.
const DefaultOverlap = 24 * time.Hour

// ErrSecretLost is returned with a key or a webhook that was made or rotated, but whose secret went with an answer that was
// lost on the way: the service shows it only once. [Client.RotateKey] and [Client.RotateWebhook] give it another.
var ErrSecretLost = errors.New("animalstore: the secret was lost on the way; rotate it to get another")

// Key is an API key.
type Key struct {
	ID         int64     `json:"id"`
	Name       string    `json:"name"`
	Scopes     []Scope   `json:"scopes"`
	Hint       string    `json:"hint"` // the last four characters of its secret
	CreatedAt  time.Time `json:"createdAt"`
	ExpiresAt  time.Time `json:"expiresAt,omitzero"`  // zero: never
	LastUsedAt time.Time `json:"lastUsedAt,omitzero"` // zero: never; exact to a minute
	// Secret is what goes into [New]. Only CreateKey and RotateKey return it, and nobody can ask for it again.
	Secret string `json:"key,omitempty"`
}

// NewKey is a key that is to be made.
type NewKey struct {
	Name      string    `json:"name"`
	Scopes    []Scope   `json:"scopes"`
	ExpiresAt time.Time `json:"expiresAt,omitzero"` // zero: never
}

// Keys walks all the keys, newest first. It ends with the first error.
func (c *Client) Keys(ctx context.Context) iter.Seq2[Key, error] {
	return all[Key](ctx, c, "/keys", byCursor, pageQuery(0, ""))
}

// CreateKey makes a key and returns it with its secret, or with [ErrSecretLost].
func (c *Client) CreateKey(ctx context.Context, n NewKey, options ...PostOption) (Key, error) {
	return c.issueKey(ctx, "/keys", n, options)
}

// CurrentKey gets the key that this client uses.
func (c *Client) CurrentKey(ctx context.Context) (key Key, err error) {
	_, err = c.get(ctx, "/keys/current", nil, &key)
	return key, err
}

// RotateKey gives a key a new secret and returns it, or [ErrSecretLost]. The old secret works for the overlap longer,
// rounded up to a second; see [DefaultOverlap]. It fails with [CodeNotFound].
func (c *Client) RotateKey(ctx context.Context, id int64, overlap time.Duration, options ...PostOption) (Key, error) {
	return c.issueKey(ctx, pathOf("/keys", id)+"/rotate", newRotation(overlap), options)
}

// rotation is the body of a request for another secret.
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

// RevokeKey takes a key back: within a second it is refused everywhere. It fails with [CodeNotFound], and with
// [CodeLastAdminKey] for the last key with the scope admin.
func (c *Client) RevokeKey(ctx context.Context, id int64) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: pathOf("/keys", id)}, nil)
	return err
}
