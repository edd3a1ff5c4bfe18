package client_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"animalstore/client"
	"animalstore/internal/shoptest"
)

func TestNewRejectsBadArguments(t *testing.T) {
	t.Parallel()
	const good, key = "https://shop.example/v1", shoptest.AdminKey
	for _, c := range []struct {
		name, base, key string
		option          client.Option
	}{
		{"no address", "", key, nil},
		{"the key in place of the address", key, good, nil},
		{"no scheme", "animals.example/v1", key, nil},
		{"another scheme", "ftp://animals.example/v1", key, nil},
		{"no host", "https:///v1", key, nil},
		{"a port alone", "https://:443/v1", key, nil},
		{"no version", "https://animals.example", key, nil},
		{"a host named v1", "https://v1", key, nil},
		{"a path that only ends in v1", "https://animals.example/xv1", key, nil},
		{"another version", "https://animals.example/v2", key, nil},
		{"a user", "https://me:" + key + "@animals.example/v1", key, nil},
		{"a query", good + "?key=" + key, key, nil},
		{"an empty query", good + "?", key, nil},
		{"a fragment", good + "#top", key, nil},
		{"a bad escape", "https://animals.example/%zz/v1", key, nil},
		{"no key", good, "", nil},
		{"a key with a space", good, "configured key", nil},
		{"a key with a line break", good, key + "\r\nX-Evil: 1", nil},
		{"a key that is not ASCII", good, "schlüssel-des-hauses", nil},
		{"no HTTP client", good, key, client.WithHTTPClient(nil)},
		{"a user agent with a line break", good, key, client.WithUserAgent("a\nb")},
		{"negative retries", good, key, client.WithRetries(-1)},
	} {
		var options []client.Option
		if c.option != nil {
			options = append(options, c.option)
		}
		made, err := client.New(c.base, c.key, options...)
		if err == nil || made != nil || strings.Contains(err.Error(), key) || c.key != "" && strings.Contains(err.Error(), c.key) {
			t.Errorf("%s: got %v, %v; the message must not show the key", c.name, made, err)
		}
	}
	for _, base := range []string{
		"http://localhost:8080/v1", "https://animals.example/v1/", "https://animals.example/shops/7/v1", "http://[::1]:80/v1",
	} {
		if _, err := client.New(base, key); err != nil {
			t.Errorf("%s: %v", base, err)
		}
	}
}

// Arguments that cannot be sent are refused before anything is sent.
func TestBadArgumentsAreNotSent(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		c, ctx := n.client(), t.Context()
		for _, name := range []string{"", strings.Repeat("x", 256), "a\nb", "schlüssel"} {
			if _, err := c.CreatePet(ctx, client.NewPet{}, client.IdempotencyKey(name)); err == nil {
				t.Errorf("the idempotency key %q was accepted", name)
			}
		}
		for _, tag := range []string{"", "\"a\nb\""} { // without an ETag, the deletion would be unconditional
			if err := c.DeletePet(ctx, 1, client.IfMatch(tag)); err == nil {
				t.Errorf("the ETag %q was accepted", tag)
			}
		}
		if _, err := c.CreateKey(ctx, client.NewKey{ExpiresAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}); err == nil {
			t.Error("a time that JSON cannot represent was accepted")
		}
		_, imported := c.ImportFile(ctx, "xml", nil)
		_, exported := c.ExportFile(ctx, "xml", io.Discard)
		if imported == nil || exported == nil || c.CheckFile(ctx, "", nil) == nil {
			t.Error("an unknown format was accepted")
		}
		for _, after := range []string{"x", "-1", "+1", " 1", "1.0", "1234567890123456789", "1\r\nX-Evil: 1"} {
			if _, err := lastError(c.Follow(ctx, after, client.EventFilter{})); err == nil {
				t.Errorf("the position %q was accepted", after)
			}
		}
	})
}
