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
	// webhookTolerance is the maximum difference between the time in a message and the current time. It
	// allows for differences between clocks and for the time in transit. After this time, a recorded message
	// can no longer be replayed.
	webhookTolerance = 5 * time.Minute
	// minSecretBytes is the minimum length that Standard Webhooks requires. With an empty secret, for example, anyone
	// could sign messages.
	minSecretBytes = 24
)

var (
	// ErrWebhookSignature is returned for a message that was not signed with any of the given secrets.
	ErrWebhookSignature = errors.New("animalstore: the message was not signed with a secret of this webhook")
	// ErrWebhookTime is returned for a message whose timestamp is more than five minutes in the past or in
	// the future.
	ErrWebhookTime = errors.New("animalstore: the message was not sent within the last five minutes, or a clock is wrong")
)

// VerifyWebhook checks that a message came from the service and returns the event in the message. Messages
// are signed as defined by Standard Webhooks 1.0. VerifyWebhook needs the unmodified request body and the
// webhook's secret, or both of its secrets during a rotation.
//
// The same message may arrive more than once, always with the same webhook-id header. Process each message
// only once, but respond to repeated messages with a 2xx status as well.
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
		return Event{}, fmt.Errorf("animalstore: the signed message is not an event: %w", err)
	}
	if event.ID == "" || event.Type == "" {
		return Event{}, errors.New("animalstore: the signed message is not an event")
	}
	return event, nil
}

// webhookKeys decodes the secrets. Its errors do not reveal them.
func webhookKeys(secrets []string) (keys [][]byte, err error) {
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil || len(key) < minSecretBytes {
			return nil, fmt.Errorf("animalstore: a webhook secret must be whsec_ followed by at least %d bytes in base64", minSecretBytes)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("animalstore: verifying a webhook requires its secret")
	}
	return keys, nil
}

// isSigned reports whether at least one of the signatures was made with one of the keys. It ignores
// signatures with an unknown version.
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
