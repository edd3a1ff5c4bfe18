package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"animalstore/internal/shop"
)

// sign returns the value of the webhook-signature header as defined by Standard Webhooks 1.0. It contains one
// signature for each of the webhook's secrets.
func sign(message shop.Message, at time.Time) (string, error) {
	var signatures []string
	for _, secret := range message.Secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil {
			return "", fmt.Errorf("a secret of webhook %d is not valid base64", message.WebhookID)
		}
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%s.%s", message.MessageID, timestamp(at), message.Body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	if len(signatures) == 0 {
		return "", fmt.Errorf("webhook %d has no secret", message.WebhookID)
	}
	return strings.Join(signatures, " "), nil
}

func timestamp(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }
