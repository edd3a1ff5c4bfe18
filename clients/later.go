package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
)

// runAgainstLater starts a service with an empty store and runs a scenario, with LATER=1 in its environment, against it
// through a proxy that changes the responses to those of a later version. The client must be able to read them.
func (g generator) runAgainstLater(ctx context.Context, dir, program, cache string) (string, error) {
	service, err := startService(ctx, program)
	if err != nil {
		return "", err
	}
	defer service.stop()
	target, err := url.Parse(service.url)
	if err != nil {
		return "", err
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Accept-Encoding")
		},
		ModifyResponse: makeLater,
	})
	defer proxy.Close()
	return shell(ctx, g.run, dir, "ANIMALSTORE_URL="+proxy.URL+"/v1", "ANIMALSTORE_KEY="+adminKey, "LATER=1",
		"CARGO_TARGET_DIR="+filepath.Join(cache, "cargo-target"))
}

// makeLater changes a JSON response to that of a later version: every object has one more member, every error an unknown
// code, the first event of a page an unknown type, and every key and every webhook has an unknown scope or type.
func makeLater(response *http.Response) error {
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		return nil
	}
	decoder := json.NewDecoder(response.Body)
	decoder.UseNumber() // large integers stay exact
	var body any
	if err := decoder.Decode(&body); err != nil {
		return err
	}
	if page, isPage := body.([]any); isPage && len(page) > 0 && strings.HasSuffix(response.Request.URL.Path, "/events") {
		page[0].(map[string]any)["type"] = "pet.photographed"
	}
	if failure, isObject := body.(map[string]any); isObject && response.StatusCode >= 400 {
		failure["code"] = "added_later"
	}
	addLater(body)
	changed, err := json.Marshal(body)
	if err != nil {
		return err
	}
	response.Body = io.NopCloser(bytes.NewReader(changed))
	response.ContentLength = int64(len(changed))
	response.Header.Set("Content-Length", strconv.Itoa(len(changed)))
	return nil
}

// addLater adds a member to every object, and a value to every list of scopes or types.
func addLater(node any) {
	switch n := node.(type) {
	case []any:
		for _, item := range n {
			addLater(item)
		}
	case map[string]any:
		for _, value := range n {
			addLater(value)
		}
		for name, value := range map[string]string{"scopes": "added:later", "types": "pet.photographed"} {
			if list, isList := n[name].([]any); isList {
				n[name] = append(list, value)
			}
		}
		n["addedLater"] = map[string]any{"value": 1}
	}
}
