package client

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"time"
)

// Scope is a permission that an API key has.
type Scope string

const (
	ScopePetsRead    Scope = "pets:read" // allows reading animals, categories and the inventory
	ScopePetsWrite   Scope = "pets:write"
	ScopeOrdersRead  Scope = "orders:read"
	ScopeOrdersWrite Scope = "orders:write"
	ScopeEventsRead  Scope = "events:read"
	ScopeCustomers   Scope = "customers" // allows seeing, searching and erasing the customers of orders
	ScopeAdmin       Scope = "admin"     // allows everything, including managing keys and webhooks
)

// DefaultOverlap is a common choice for how long an old secret keeps working after a rotation.
const DefaultOverlap = 24 * time.Hour

// ErrSecretLost is returned together with a key or webhook that was created or rotated, if the response that contained
// its secret was lost. The service shows a secret only once. Call [Client.RotateKey] or [Client.RotateWebhook] to get
// a new secret.
var ErrSecretLost = errors.New("animalstore: the secret was in a response that got lost; rotate it to get a new one")

// Key describes an API key.
type Key struct {
	ID         int64     `json:"id"`
	Name       string    `json:"name"`
	Scopes     []Scope   `json:"scopes"`
	Hint       string    `json:"hint"` // the last four characters of the secret
	CreatedAt  time.Time `json:"createdAt"`
	ExpiresAt  time.Time `json:"expiresAt,omitzero"`  // zero if the key never expires
	LastUsedAt time.Time `json:"lastUsedAt,omitzero"` // zero if the key was never used; accurate to one minute
	// Secret is the API key to pass to [New]. Only CreateKey and RotateKey return it, and it cannot be read
	// later.
	Secret string `json:"key,omitempty"`
}

// NewKey describes an API key to create.
type NewKey struct {
	Name      string    `json:"name"`
	Scopes    []Scope   `json:"scopes"`
	ExpiresAt time.Time `json:"expiresAt,omitzero"` // zero if the key never expires
}

// Keys iterates over all API keys, newest first. The first error is yielded and ends the iteration.
func (c *Client) Keys(ctx context.Context) iter.Seq2[Key, error] {
	return all[Key](ctx, c, "/keys", byCursor, pageQuery(0, ""))
}

// CreateKey creates an API key and returns it with its secret. If the response with the secret was lost
// and the request was retried, CreateKey returns the key with an empty secret, together with [ErrSecretLost].
func (c *Client) CreateKey(ctx context.Context, n NewKey, options ...PostOption) (Key, error) {
	return c.issueKey(ctx, "/keys", n, options)
}

// CurrentKey returns the API key that this client uses.
func (c *Client) CurrentKey(ctx context.Context) (key Key, err error) {
	_, err = c.get(ctx, "/keys/current", nil, &key)
	return key, err
}

// RotateKey gives an API key a new secret and returns the key with that secret. If the response with the secret was
// lost, RotateKey returns [ErrSecretLost]. The old secret keeps working for the duration of the overlap, rounded up to
// whole seconds; see [DefaultOverlap]. RotateKey fails with [CodeNotFound] if the key does not exist.
func (c *Client) RotateKey(ctx context.Context, id int64, overlap time.Duration, options ...PostOption) (Key, error) {
	return c.issueKey(ctx, pathOf("/keys", id)+"/rotate", newRotation(overlap), options)
}

// rotation is the request body for rotating a key or a webhook.
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

// RevokeKey revokes an API key. Every node rejects the key within one second. RevokeKey fails with
// [CodeNotFound] if the key does not exist and with [CodeLastAdminKey] if it is the last key with the admin
// scope.
func (c *Client) RevokeKey(ctx context.Context, id int64) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: pathOf("/keys", id)}, nil)
	return err
}
