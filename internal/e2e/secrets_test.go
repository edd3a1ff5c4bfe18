package e2e

import (
	"slices"
	"strings"
	"testing"
)

// TestSecretsStaySecret sends keys in correct and incorrect places and then searches for them in everything
// that the service has written.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	p := f.serve()
	issued := f.createKey("--name", "partner")
	readOnly := f.createKey("--name", "reader", "--scope", "pets:read")
	stranger := newFolder(t).createKey("--name", "stranger")
	const foreign = "sk_prod_4eC39HqLyjWDarjtT1zdp7dc" // recognizable as a key only from its context
	byAPI := p.send("POST", "/v1/keys", adminKey, `{"name":"site","scopes":["pets:read"]}`, "Idempotency-Key: k")
	rotatedByAPI := p.send("POST", "/v1/keys/2/rotate", adminKey, "", "Idempotency-Key: r")
	// The responses stored for idempotency keys must not contain the secrets.
	for path, key := range map[string]string{"/v1/keys": "k", "/v1/keys/2/rotate": "r"} {
		body := ""
		if key == "k" {
			body = `{"name":"site","scopes":["pets:read"]}`
		}
		if a := p.send("POST", path, adminKey, body, "Idempotency-Key: "+key); strings.Contains(a.body, "ask_") || a.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("the replay of POST %s is %v, want no secret", path, a)
		}
	}
	secret := func(a response) string { return decode[struct{ Key string }](t, a.body).Key }
	secrets := map[string]string{
		"a key created by the API":   secret(byAPI),
		"a key rotated by the API":   secret(rotatedByAPI),
		"a key rotated by a command": strings.TrimSpace(f.run("keys", "rotate", "1").stdout),
		"the configured key":         adminKey,
		"an issued key":              issued,
		"a key with one scope":       readOnly,
		"another store's key":        stranger,
		"a mistyped key":             issued[:20] + "0000" + issued[24:],
		"the beginning of a key":     issued[:30],
		"another service's key":      foreign,
	}
	for _, secret := range secrets {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			p.send(method, "/v1/pets", secret, pet{Name: "Rex"}.json())
			p.send(method, "/v1/nothing", secret, "")
		}
		p.send("GET", "/metrics", secret, "")
		p.send("GET", "/v1/pets", "", "", "Authorization: Basic "+secret)
		p.send("GET", "/v1/pets", "", "", "Authorization: "+secret)
		p.send("GET", "/v1/pets", "", "", "X-Api-Key: "+secret)
		p.send("GET", "/v1/pets", "", "", "Cookie: key="+secret, "Referer: https://example.com/?key="+secret, "User-Agent: "+secret)
		for _, parameter := range []string{"key=", "api_key=", "access_token=", "limit=", "q=", "id=", "cursor=", ""} {
			p.send("GET", "/v1/pets?"+parameter+secret, "", "")
			p.send("GET", "/v1/pets?"+parameter+secret, adminKey, "")
		}
		if secret == foreign {
			continue
		}
		for _, path := range []string{"/", "/v1/", "/v1/pets/", "/v1/pets/1/", "/debug/pprof/", "/v1/" + strings.Repeat("x", 180)} {
			p.send("GET", path+secret, "", "")
			p.send("GET", path+"key="+secret, adminKey, "")
			p.send("GET", path+strings.NewReplacer("_", "%5F", "-", "%2D").Replace(secret), adminKey, "")
		}
		p.send(secret, "/v1/pets", adminKey, "")
	}

	written := map[string]string{"/metrics": p.get("/metrics").body}
	// The service is still running, so the files include the WAL.
	for _, name := range f.names() {
		written[name] = f.read(name)
	}
	if !slices.Contains(f.names(), "animalstore.db-wal") {
		t.Errorf("the folder has %q, want animalstore.db-wal, too", f.names())
	}
	p.stop()
	written["the log"] = p.output.String()
	written["the database after the stop"] = f.read("animalstore.db")

	for what, secret := range secrets {
		for where, text := range written {
			if n := strings.Count(text, secret); n > 0 {
				t.Errorf("%s contains %s, %d times, first here: …%q…", where, what, n, around(text, secret))
			}
		}
	}
}

// around returns the first occurrence of part in text with up to 40 bytes of context on each side.
func around(text, part string) string {
	i := strings.Index(text, part)
	return text[max(0, i-40):min(len(text), i+len(part)+40)]
}
