package client

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// webhookTolerance is how far the clocks of the two sides may be apart, and how long a message may be under way. Who
	// records a message cannot send it again after that.
	webhookTolerance = 5 * time.Minute
	// minSecretBytes is the least that Standard Webhooks asks for. An empty secret would let everybody sign.
	minSecretBytes = 24
)

var (
	// ErrWebhookSignature is returned for a message that none of the secrets has signed.
	ErrWebhookSignature = errors.New("animalstore: the message is not signed with a secret of this webhook")
	// ErrWebhookTime is returned for a message that was signed too long ago, or in the future.
	ErrWebhookTime = errors.New("animalstore: the message was not sent within the last five minutes, or a clock is wrong")
)

// VerifyWebhook checks that a message came from the service, as Standard Webhooks 1.0 says, and returns its event. It needs
// the body to the byte as it came, and the secrets of the webhook: one, or two while one is rotated.
//
// The same message may come more than once. Its header webhook-id is the same each time: do what it asks for once, and
// answer with a 2xx also when it was done before.
func VerifyWebhook(header http.Header, body []byte, secrets ...string) (Event, error) {
	keys, err := webhookKeys(secrets)
	if err != nil {
		return Event{}, err
	}
	id, sent, signatures := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp"), header.Get("Webhook-Signature")
	if id == "" || sent == "" || signatures == "" {
		return Event{}, errors.New("animalstore: the message lacks webhook-id, webhook-timestamp or webhook-signature")
	}
	seconds, err := strconv.ParseInt(sent, 10, 64)
	if err != nil {
		return Event{}, errors.New("animalstore: webhook-timestamp must be a number of seconds")
	}
	if !isSigned(keys, signatures, id, sent, body) {
		return Event{}, ErrWebhookSignature
	}
	if now := time.Now(); seconds < now.Add(-webhookTolerance).Unix() || seconds > now.Add(webhookTolerance).Unix() {
		return Event{}, ErrWebhookTime
	}
	var event Event
	if err := json.Unmarshal(body, &event); err != nil {
		return Event{}, fmt.Errorf("animalstore: the message is signed, but is no event: %w", err)
	}
	if event.ID == "" || event.Type == "" {
		return Event{}, errors.New("animalstore: the message is signed, but is no event")
	}
	return event, nil
}

// webhookKeys decodes secrets. No message here shows one.
func webhookKeys(secrets []string) (keys [][]byte, err error) {
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil || len(key) < minSecretBytes {
			return nil, fmt.Errorf("animalstore: the secret of a webhook is whsec_ and the base64 of at least %d bytes", minSecretBytes)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("animalstore: to verify a webhook takes its secret")
	}
	return keys, nil
}

// isSigned tells whether one of the signatures was made with one of the keys. Signatures of kinds that we do not know may
// stand beside those that we do.
func isSigned(keys [][]byte, signatures, id, sent string, body []byte) bool {
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + sent + "."))
		mac.Write(body)
		want := []byte(base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		for signature := range strings.SplitSeq(signatures, " ") {
			version, value, _ := strings.Cut(signature, ",")
			if version == "v1" && hmac.Equal([]byte(value), want) {
				return true
			}
		}
	}
	return false
}
