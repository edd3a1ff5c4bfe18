package client

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// FuzzVerifyWebhook checks that no forged message is accepted, that no error reveals the secret, and that
// nothing panics.
func FuzzVerifyWebhook(f *testing.F) {
	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte("a secret of the webhook, for tests"))
	now := strconv.FormatInt(time.Now().Unix(), 10)
	for _, signature := range []string{"", "v1", "v1,", "v1,AAAA", "v1a,AAAA v1,AAAA", "v2,x v1,", " ", ",,,"} {
		f.Add("msg_1", now, signature, []byte(`{"id":"1","type":"pet.created"}`), secret)
	}
	f.Add("", "x", "v1,AAAA", []byte(`{`), "whsec_")
	f.Add("msg_1", "-9223372036854775808", "v1,AAAA", []byte(nil), "not a secret")
	f.Fuzz(func(t *testing.T, id, sent, signature string, body []byte, given string) {
		header := http.Header{}
		header.Set("Webhook-Id", id)
		header.Set("Webhook-Timestamp", sent)
		header.Set("Webhook-Signature", signature)
		if event, err := VerifyWebhook(header, body, secret); err == nil {
			t.Fatalf("%+v was accepted", event)
		}
		if _, err := VerifyWebhook(header, body, given); err != nil && len(given) > 12 && strings.Contains(err.Error(), given) {
			t.Fatalf("%v reveals the secret", err)
		}
	})
}

// FuzzNextLink checks that the target of a link is always part of the header.
func FuzzNextLink(f *testing.F) {
	for _, field := range []string{"", `<https://x/v1/pets?cursor=8000000000001>; rel="next"`, `<a>; rel="first", <b>; rel="next"`, `<a>; title="a, b"; rel=next`, `<a`, `>;,<`, `<a>; rel="prev next"`, `<>; rel=next`} {
		f.Add(field)
	}
	f.Fuzz(func(t *testing.T, field string) {
		target, found := nextLink(http.Header{"Link": {field}})
		if found && !strings.Contains(field, "<"+target) || !found && target != "" {
			t.Fatalf("%q links to %q", field, target)
		}
	})
}

// FuzzErrorResponse checks that every failed response becomes an error with a code and a message. It also
// checks that the backoff is at least as long as Retry-After.
func FuzzErrorResponse(f *testing.F) {
	for _, body := range []string{"", "{}", `{"code":"not_found","message":"x","status":404}`, `{"code":7}`, "<html>", `{"code":"unavailable","message":"x","status":503}`} {
		f.Add(503, body, "1")
	}
	f.Add(429, "", "Wed, 21 Oct 2037 07:28:00 GMT")
	f.Add(429, "", "99999999999999999999")
	f.Add(429, "", "-1")
	f.Fuzz(func(t *testing.T, status int, body, after string) {
		e := apiResponse{status: status, header: http.Header{"Retry-After": {after}}, body: []byte(body)}.asError()
		if e == nil || e.Code == "" || e.RetryAfter < 0 || e.Error() == "" {
			t.Fatalf("%d %q %q: %+v", status, body, after, e)
		}
		if wait := backoff(1, e); wait < e.RetryAfter {
			t.Fatalf("Retry-After is %v, the backoff %v", e.RetryAfter, wait)
		}
		if _, ok := errors.AsType[*Error](error(e)); !ok {
			t.Fatal("not an *Error")
		}
	})
}

// FuzzBaseURL checks that every accepted base URL ends in /v1 and can be used in requests.
func FuzzBaseURL(f *testing.F) {
	for _, text := range []string{"", "https://x/v1", "https://x/v1/", "http://[::1]:80/a/v1", "https://u:p@x/v1", "https://x/v1?a", "https://x/v1#", "https:///v1", "ftp://x/v1", "https://x/%2fv1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		base, err := parseBase(text)
		if err != nil {
			return
		}
		u, err := url.Parse(base + "/pets?limit=1")
		if err != nil || u.Host == "" || u.User != nil || u.Query().Get("limit") != "1" || !strings.HasSuffix(u.Path, "/v1/pets") {
			t.Fatalf("%q was accepted as %q: %+v %v", text, base, u, err)
		}
		if _, err := http.NewRequest("GET", base+"/pets", nil); err != nil {
			t.Fatalf("%q was accepted: %v", text, err)
		}
	})
}
