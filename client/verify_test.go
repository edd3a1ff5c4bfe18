package client_test

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"animalstore/client"
	"animalstore/internal/shoptest"
)

const message = `{"specversion":"1.0","id":"7","source":"/v1","type":"pet.created","subject":"pets/1",` +
	`"time":"2026-11-15T04:43:34Z","datacontenttype":"application/json","actor":"keys/3",` +
	`"data":{"current":{"id":1,"name":"Rex","categoryId":1},"previous":null}}`

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
		check(err)
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%d.%s", id, at.Unix(), body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	header := http.Header{}
	header.Set("webhook-id", id)
	header.Set("webhook-timestamp", fmt.Sprint(at.Unix()))
	header.Set("webhook-signature", strings.Join(signatures, " "))
	return header
}

func TestVerifyWebhook(t *testing.T) {
	t.Parallel()
	old, secret, other := newSecret(), newSecret(), newSecret()
	one, forged := []string{secret}, client.ErrWebhookSignature
	for _, c := range []struct {
		name            string
		signed, secrets []string      // the secrets of the sender and of the receiver
		ago             time.Duration // the age of the message
		header          string        // the header to change, "body" to change the body, or "" to change nothing
		what, with      string        // the text that is replaced, and its replacement
		want            error         // nil if the message is accepted
	}{
		{"unchanged", one, one, 0, "", "", "", nil},
		{"without a prefix", one, []string{strings.TrimPrefix(secret, "whsec_")}, 0, "", "", "", nil},
		{"a sender that rotates", []string{secret, old}, []string{old}, 0, "", "", "", nil},
		{"a sender that has rotated", []string{secret, old}, one, 0, "", "", "", nil},
		{"a receiver that rotates", one, []string{old, secret}, 0, "", "", "", nil},
		{"another secret", []string{other}, []string{old, secret}, 0, "", "", "", forged},
		{"almost too old", one, one, 5 * time.Minute, "", "", "", nil},
		{"too old", one, one, 5*time.Minute + time.Second, "", "", "", client.ErrWebhookTime},
		{"almost too new", one, one, -5 * time.Minute, "", "", "", nil},
		{"too new", one, one, -5*time.Minute - time.Second, "", "", "", client.ErrWebhookTime},
		{"another body", one, one, 0, "body", "Rex", "Max", forged},
		{"no body", one, one, 0, "body", message, "", forged},
		{"another id", one, one, 0, "Webhook-Id", "7", "8", forged},
		{"another time", one, one, 0, "Webhook-Timestamp", "9466848", "9466849", forged},
		{"a signature without a version", one, one, 0, "Webhook-Signature", "v1,", "", forged},
		{"a signature of another version", one, one, 0, "Webhook-Signature", "v1,", "v2,", forged},
		{"a truncated signature", one, one, 0, "Webhook-Signature", "=", "", forged},
		{"beside other versions", one, one, 0, "Webhook-Signature", "v1,", "v1a,AAAA v2,x nonsense  ,, v1 v1,AAAA v1,", nil},
	} {
		synctest.Test(t, func(t *testing.T) { // virtual time makes the age exact
			body, header := message, sign("evt_7", time.Now().Add(-c.ago), []byte(message), c.signed...)
			if c.header == "body" {
				body = strings.Replace(body, c.what, c.with, 1)
			} else if c.header != "" {
				header.Set(c.header, strings.Replace(header.Get(c.header), c.what, c.with, 1))
			}
			event, err := client.VerifyWebhook(header, []byte(body), c.secrets...)
			if !errors.Is(err, c.want) || (err == nil) != (event.ID == "7") {
				t.Errorf("%s: got %+v, %v, want %v", c.name, event, err, c.want)
			}
			accepted := slices.ContainsFunc(c.secrets, func(secret string) bool {
				return shoptest.Must(standardwebhooks.NewWebhook(secret))(t).Verify([]byte(body), header) == nil
			})
			wantEqual(t, c.name+": the official library accepts it", accepted, c.want == nil)
		})
	}
}

func TestVerifyWebhookRejectsBadArguments(t *testing.T) {
	t.Parallel()
	secret := newSecret()
	reject := func(header http.Header, body, want string, secrets ...string) {
		t.Helper()
		_, err := client.VerifyWebhook(header, []byte(body), secrets...)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), strings.TrimPrefix(secret, "whsec_")) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	good := func() http.Header { return sign("evt_7", time.Now(), []byte(message), secret) }
	short := "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 23))
	for _, weak := range []string{"", "whsec_", short} { // these secrets could be guessed
		header := sign("evt_7", time.Now(), []byte(message), weak, secret)
		reject(header, message, "at least 24 bytes", weak)
		reject(header, message, "at least 24 bytes", secret, weak)
	}
	reject(good(), message, "requires its secret")
	reject(good(), message, "in base64", "whsec_!!!")
	reject(good(), message, "in base64", secret+"\n!")
	for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
		header := good()
		header.Del(name)
		reject(header, message, name, secret)
	}
	for _, text := range []string{"now", "1e9", "99999999999999999999"} {
		header := good()
		header.Set("webhook-timestamp", text)
		reject(header, message, "webhook-timestamp must be", secret)
	}
	for _, body := range []string{"", "[]", `{"id":"7"}`, `{"type":"x"}`, `{"id":"7","type":"x","data":7}`, message + message} {
		reject(sign("evt_7", time.Now(), []byte(body), secret), body, "not an event", secret)
	}
}
