package webhook

import (
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// The official library accepts our signatures for every secret that was used and rejects them for any other
// secret.
func TestOfficialLibraryVerifiesSignatures(t *testing.T) {
	t.Parallel()
	const first, second, other = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	now := time.Now()
	claim := message("https://example.com/")
	claim.Body = []byte(`{"name":"Žofka 🐢"}`)
	for _, secrets := range [][]string{{first}, {second}, {first, second}} {
		claim.Secrets = secrets
		signature, err := sign(claim, now)
		if err != nil || len(strings.Fields(signature)) != len(secrets) {
			t.Fatalf("%q %v", signature, err)
		}
		header := http.Header{}
		header.Set("webhook-id", claim.MessageID)
		header.Set("webhook-timestamp", timestamp(now))
		header.Set("webhook-signature", signature)
		for _, secret := range []string{first, second, other} {
			verifier, err := standardwebhooks.NewWebhook(secret)
			if err != nil {
				t.Fatal(err)
			}
			signed := strings.Contains(strings.Join(secrets, " "), secret)
			if err := verifier.Verify(claim.Body, header); (err == nil) != signed {
				t.Errorf("signed with %q, verified with %s: %v", secrets, secret, err)
			}
			if err := verifier.Verify([]byte("{}"), header); err == nil {
				t.Error("a different body is accepted")
			}
		}
	}
	// This is the example from the specification.
	claim.MessageID, claim.Body, claim.Secrets = "msg_p5jXN8AQM9LWM0D4loKWxJek", []byte(`{"test": 2432232314}`), []string{first}
	if signature, err := sign(claim, time.Unix(1614265330, 0)); signature != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Errorf("%q %v", signature, err)
	}
	for _, secrets := range [][]string{nil, {"whsec_?"}} {
		claim.Secrets = secrets
		if signature, err := sign(claim, now); err == nil {
			t.Errorf("with %q: %s", secrets, signature)
		}
	}
}
