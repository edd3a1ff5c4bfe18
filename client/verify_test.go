package client_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"animalstore/client"
)

const message = `{"specversion":"1.0","id":"7","source":"/v1","type":"pet.created","subject":"pets/1","time":"2026-11-15T04:43:34Z",` +
	`"datacontenttype":"application/json","actor":"keys/3","data":{"current":{"id":1,"name":"Rex","categoryId":1},"previous":null}}`

func newSecret() string {
	secret := make([]byte, 32)
	rand.Read(secret)
	return "whsec_" + base64.StdEncoding.EncodeToString(secret)
}

// sign returns the headers for a message that is signed with each of the secrets. It follows Standard
// Webhooks 1.0 without using a library.
func sign(id string, at time.Time, body []byte, secrets ...string) http.Header {
	var signatures []string
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil {
			panic(err)
		}
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%d.%s", id, at.Unix(), body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	header := http.Header{}
	header.Set("webhook-id", id)
	header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
	header.Set("webhook-signature", strings.Join(signatures, " "))
	return header
}

// officialVerify reports whether the official Standard Webhooks library accepts a message.
func officialVerify(t *testing.T, header http.Header, body []byte, secrets ...string) bool {
	t.Helper()
	for _, secret := range secrets {
		if must(standardwebhooks.NewWebhook(secret))(t).Verify(body, header) == nil {
			return true
		}
	}
	return false
}

func TestVerifyWebhook(t *testing.T) {
	t.Parallel()
	old, secret, other := newSecret(), newSecret(), newSecret()
	now := time.Now
	for _, c := range []struct {
		name    string
		signed  []string      // the sender's secrets
		ago     time.Duration // the age of the message
		change  func(h http.Header, body []byte) []byte
		secrets []string // the receiver's secrets
		want    error    // nil if the message is accepted
	}{
		{"unchanged", []string{secret}, 0, nil, []string{secret}, nil},
		{"without a prefix", []string{secret}, 0, nil, []string{strings.TrimPrefix(secret, "whsec_")}, nil},
		{"a sender that rotates", []string{secret, old}, 0, nil, []string{old}, nil},
		{"a sender that has rotated", []string{secret, old}, 0, nil, []string{secret}, nil},
		{"a receiver that rotates", []string{secret}, 0, nil, []string{old, secret}, nil},
		{"both rotate", []string{secret, old}, 0, nil, []string{old, secret}, nil},
		{"another secret", []string{other}, 0, nil, []string{old, secret}, client.ErrWebhookSignature},
		{"almost too old", []string{secret}, 5 * time.Minute, nil, []string{secret}, nil},
		{"too old", []string{secret}, 5*time.Minute + time.Second, nil, []string{secret}, client.ErrWebhookTime},
		{"almost too new", []string{secret}, -5 * time.Minute, nil, []string{secret}, nil},
		{"too new", []string{secret}, -5*time.Minute - time.Second, nil, []string{secret}, client.ErrWebhookTime},
		{"another body", []string{secret}, 0, func(_ http.Header, body []byte) []byte {
			return bytes.Replace(body, []byte("Rex"), []byte("Max"), 1)
		}, []string{secret}, client.ErrWebhookSignature},
		{"a longer body", []string{secret}, 0, func(_ http.Header, body []byte) []byte { return append(body, ' ') }, []string{secret}, client.ErrWebhookSignature},
		{"no body", []string{secret}, 0, func(http.Header, []byte) []byte { return nil }, []string{secret}, client.ErrWebhookSignature},
		{"a different id", []string{secret}, 0, sets("Webhook-Id", "evt_8"), []string{secret}, client.ErrWebhookSignature},
		{"another time", []string{secret}, time.Hour, func(h http.Header, body []byte) []byte {
			return sets("Webhook-Timestamp", strconv.FormatInt(now().Unix(), 10))(h, body)
		}, []string{secret}, client.ErrWebhookSignature},
		{"an empty signature", []string{secret}, 0, sets("Webhook-Signature", "v1,"), []string{secret}, client.ErrWebhookSignature},
		{"a signature without a version", []string{secret}, 0, replaces("v1,", ""), []string{secret}, client.ErrWebhookSignature},
		{"a signature of another version", []string{secret}, 0, replaces("v1,", "v2,"), []string{secret}, client.ErrWebhookSignature},
		{"a truncated signature", []string{secret}, 0, replaces("=", ""), []string{secret}, client.ErrWebhookSignature},
		{"beside other versions", []string{secret}, 0, replaces("v1,", "v1a,AAAA v2,x nonsense  ,, v1 v1,AAAA v1,"), []string{secret}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // virtual time makes the age exact
				body := []byte(message)
				header := sign("evt_7", now().Add(-c.ago), body, c.signed...)
				if c.change != nil {
					body = c.change(header, body)
				}
				event, err := client.VerifyWebhook(header, body, c.secrets...)
				if !errors.Is(err, c.want) || (err == nil) != (event.ID == "7") {
					t.Errorf("got %+v, %v, want %v", event, err, c.want)
				}
				if accepted := officialVerify(t, header, body, c.secrets...); accepted != (c.want == nil) {
					t.Errorf("the official library disagrees: %v", accepted)
				}
			})
		})
	}
}

func sets(name, value string) func(http.Header, []byte) []byte {
	return func(h http.Header, body []byte) []byte { h.Set(name, value); return body }
}

func replaces(what, with string) func(http.Header, []byte) []byte {
	return func(h http.Header, body []byte) []byte {
		h.Set("Webhook-Signature", strings.ReplaceAll(h.Get("Webhook-Signature"), what, with))
		return body
	}
}

func TestVerifyWebhookRejectsBadArguments(t *testing.T) {
	t.Parallel()
	secret := newSecret()
	good := func() http.Header { return sign("evt_7", time.Now(), []byte(message), secret) }
	short := "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 23))
	for _, weak := range []string{"", "whsec_", short} { // these secrets could be guessed
		header := sign("evt_7", time.Now(), []byte(message), weak, secret)
		for _, secrets := range [][]string{{weak}, {secret, weak}} {
			if _, err := client.VerifyWebhook(header, []byte(message), secrets...); err == nil {
				t.Errorf("%q was accepted", weak)
			}
		}
	}
	for _, secrets := range [][]string{nil, {"whsec_!!!"}, {secret, "x"}, {secret + "\n!"}} {
		_, err := client.VerifyWebhook(good(), []byte(message), secrets...)
		if err == nil || errors.Is(err, client.ErrWebhookSignature) || strings.Contains(err.Error(), strings.TrimPrefix(secret, "whsec_")) {
			t.Errorf("%d secrets: got %v", len(secrets), err)
		}
	}
	for _, name := range []string{"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"} {
		header := good()
		header.Del(name)
		if _, err := client.VerifyWebhook(header, []byte(message), secret); err == nil || !strings.Contains(err.Error(), strings.ToLower(name)) {
			t.Errorf("without %s: got %v", name, err)
		}
	}
	for _, text := range []string{"now", "1e9", "99999999999999999999", "2026-11-15T04:43:34Z"} {
		header := good()
		header.Set("Webhook-Timestamp", text)
		if _, err := client.VerifyWebhook(header, []byte(message), secret); err == nil || !strings.Contains(err.Error(), "webhook-timestamp") {
			t.Errorf("at %s: got %v", text, err)
		}
	}
	for _, body := range []string{"", "x", "[]", "{}", `{"id":"7"}`, `{"type":"pet.created"}`, message + message} {
		_, err := client.VerifyWebhook(sign("evt_7", time.Now(), []byte(body), secret), []byte(body), secret)
		if err == nil || !strings.Contains(err.Error(), "not an event") {
			t.Errorf("%q: got %v", body, err)
		}
	}
}
