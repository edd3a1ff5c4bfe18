package cli

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
)

// Keys that are sent in correct and incorrect places appear in nothing that the service writes.
func TestSecretsStaySecret(t *testing.T) {
	newFolderWithKey(t)
	s := serve(t)
	issued := createKey(t, "--name", "partner")
	readOnly := createKey(t, "--name", "reader", "--scope", "pets:read")
	stranger := createKey(t, "--name", "stranger", "--database", t.TempDir()+"/other.db")
	const foreign = "sk_prod_4eC39HqLyjWDarjtT1zdp7dc" // recognizable as a key only from its context
	// post returns the secret in the response. The response to a repeated request must not contain it.
	post := func(path, body string) string {
		secret := decode[struct{ Key string }](t, s.send("POST", path, adminKey, body, "Idempotency-Key: "+path).body).Key
		if a := s.send("POST", path, adminKey, body, "Idempotency-Key: "+path); strings.Contains(a.body, "ask_") || a.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("repeated POST %s: got %+v, want a replayed response without the secret", path, a)
		}
		return secret
	}
	secrets := map[string]string{
		"a key created by the API":   post("/v1/keys", `{"name":"site","scopes":["pets:read"]}`),
		"a key rotated by the API":   post("/v1/keys/2/rotate", ""),
		"a key rotated by a command": strings.TrimSpace(succeed(t, "keys", "rotate", "1").stdout),
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
			s.send(method, "/v1/pets", secret, `{"name":"Rex","categoryId":1}`)
			s.send(method, "/v1/nothing", secret, "")
		}
		s.send("GET", "/metrics", secret, "")
		s.send("GET", "/v1/pets", "", "", "Authorization: Basic "+secret)
		s.send("GET", "/v1/pets", "", "", "Authorization: "+secret)
		s.send("GET", "/v1/pets", "", "", "X-Api-Key: "+secret)
		s.send("GET", "/v1/pets", "", "", "Cookie: key="+secret, "Referer: https://example.com/?key="+secret, "User-Agent: "+secret)
		for _, parameter := range []string{"key=", "api_key=", "access_token=", "limit=", "q=", "id=", "cursor=", ""} {
			s.send("GET", "/v1/pets?"+parameter+secret, "", "")
			s.send("GET", "/v1/pets?"+parameter+secret, adminKey, "")
		}
		if secret == foreign {
			continue
		}
		for _, path := range []string{"/", "/v1/", "/v1/pets/", "/v1/pets/1/", "/debug/pprof/", "/v1/" + strings.Repeat("x", 180)} {
			s.send("GET", path+secret, "", "")
			s.send("GET", path+"key="+secret, adminKey, "")
			s.send("GET", path+strings.NewReplacer("_", "%5F", "-", "%2D").Replace(secret), adminKey, "")
		}
		s.send(secret, "/v1/pets", adminKey, "")
	}

	written := map[string][]byte{"/metrics": []byte(s.expect(200, "GET", "/metrics", adminKey, ""))}
	read := func(name, as string) {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		written[as] = content
	}
	names := fileNames(t) // the service is still running, so the files include the WAL
	for _, name := range names {
		read(name, name)
	}
	if !slices.Contains(names, "animalstore.db-wal") {
		t.Errorf("files: got %q, want animalstore.db-wal among them", names)
	}
	s.stop()
	written["the log"] = []byte(s.output.String())
	read("animalstore.db", "the database after the stop")
	for what, secret := range secrets {
		for where, text := range written {
			if i := bytes.Index(text, []byte(secret)); i >= 0 {
				t.Errorf("%s contains %s: …%q…", where, what, text[max(0, i-40):min(len(text), i+len(secret)+40)])
			}
		}
	}
}
