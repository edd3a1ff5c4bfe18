package main

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestMakeLater(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path       string
		status     int
		body, want string
	}{
		{"/v1/events", 200, `[{"type":"pet.created"},{"type":"pet.updated"}]`,
			`[{"addedLater":{"value":1},"type":"pet.photographed"},{"addedLater":{"value":1},"type":"pet.updated"}]`},
		{"/v1/store/orders/9", 404, `{"code":"not_found","status":404}`, `{"addedLater":{"value":1},"code":"added_later","status":404}`},
		{"/v1/pets", 201, `{"categoryId":9007199254740993}`, `{"addedLater":{"value":1},"categoryId":9007199254740993}`},
		{"/v1/keys", 201, `{"scopes":["admin"]}`, `{"addedLater":{"value":1},"scopes":["admin","added:later"]}`},
		{"/v1/webhooks", 201, `{"types":["pet.created"]}`, `{"addedLater":{"value":1},"types":["pet.created","pet.photographed"]}`},
	} {
		response := &http.Response{
			StatusCode: c.status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(c.body)),
			Request: &http.Request{URL: &url.URL{Path: c.path}},
		}
		if err := makeLater(response); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(response.Body); err != nil || string(got) != c.want || response.ContentLength != int64(len(got)) {
			t.Errorf("%s: got %s, %v, want %s", c.path, got, err, c.want)
		}
	}
}
