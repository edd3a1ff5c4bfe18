package docs

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"animalstore/api/apitest"
	"animalstore/docs"
	"animalstore/internal/shoptest"
)

// codeBlocks returns the code blocks in a guide that are in the given language.
func codeBlocks(t *testing.T, guide, language string) (all []string) {
	t.Helper()
	content := shoptest.Must(docs.Files.ReadFile(guide))(t)
	for _, block := range regexp.MustCompile("(?s)\n```"+language+"\n(.*?)```\n").FindAllStringSubmatch(string(content), -1) {
		all = append(all, block[1])
	}
	return all
}

// Every code block in the guides that is marked as sh works when it is pasted into a shell. Commands that wait for
// input or never end are in blocks that are marked as console.
func TestGuideExamplesRun(t *testing.T) {
	t.Parallel()
	server := serveDocs(t)
	images := shoptest.Must(apitest.ExampleImages())(t)
	count := 0
	for _, name := range docs.Guides {
		// The commands in other files need more than curl and have their own tests.
		if !strings.HasPrefix(name, "guides/") {
			continue
		}
		for _, block := range codeBlocks(t, name, "sh") {
			count++
			script := strings.ReplaceAll(block, "http://127.0.0.1:8080", server.URL)
			dir := t.TempDir()
			shoptest.OK(t, os.WriteFile(filepath.Join(dir, "rex.jpg"), []byte(images["rex.jpg"]), 0o600))
			output, err := shell(t, dir, "set -o pipefail\n"+strictCurl+script, "KEY="+shoptest.AdminKey)
			if err != nil || strings.Contains(output, `"code":`) {
				t.Errorf("%s: %s\ngot %s, %v, want a response without an error", name, script, output, err)
			}
		}
	}
	if count < 15 {
		t.Errorf("ran %d examples, want at least 15", count)
	}
}

// In every language that can run here, the code in the webhooks guide accepts messages that are signed with either
// secret, and refuses forged and old messages. The Java code does not run here. It must be the same as in the Java
// example, which `make examples` runs.
func TestGuideVerifiesWebhooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		path := filepath.Join(dir, name)
		shoptest.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		shoptest.OK(t, os.WriteFile(path, []byte(content), 0o600))
	}
	one := func(language string) string {
		t.Helper()
		blocks := codeBlocks(t, "guides/webhooks.md", language)
		if len(blocks) != 1 {
			t.Fatalf("got %d blocks in %s, want 1", len(blocks), language)
		}
		return blocks[0]
	}
	example := string(shoptest.Must(os.ReadFile("../../../examples/java/src/main/java/example/Webhooks.java"))(t))
	for line := range strings.Lines(one("java")) {
		if !strings.Contains(example, strings.TrimSpace(line)) {
			t.Errorf("the example in Java lacks this line of the guide: %s", line)
		}
	}
	write("go.mod", "module example\n\ngo 1.26\n")
	write("receiver/receiver.go", one("go"))
	write("main.go", `package main

import (
	"net/http"
	"os"
	"strings"

	"example/receiver"
)

func main() {
	header := http.Header{}
	for _, name := range []string{"id", "timestamp", "signature"} {
		header.Set("webhook-"+name, os.Getenv(name))
	}
	if err := receiver.Verify(header, []byte(os.Getenv("body")), strings.Fields(os.Getenv("secrets"))...); err != nil {
		os.Stdout.WriteString(err.Error())
		os.Exit(1)
	}
}
`)
	write("receiver.py", one("python")+`
import os

verify({"webhook-" + name: os.environ[name] for name in ("id", "timestamp", "signature")}, os.environ["body"].encode(), os.environ["secrets"].split())
`)
	write("receiver.ts", one("ts")+`
const env = (name: string): string => process.env[name] ?? "";
verify((name) => env(name.replace("webhook-", "")), Buffer.from(env("body")), ...env("secrets").split(" "));
`)
	installTypeScript(t, dir)
	if output, err := shell(t, dir, "go vet ./... && go build -o receiver-go . && node_modules/.bin/tsc --strict --noUncheckedIndexedAccess --target es2022 --module nodenext --types node receiver.ts", "GOWORK=off", "GOFLAGS="); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	secrets := []string{"whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 24)), "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))}
	sign := func(secret string, at time.Time, body string) []string {
		key := shoptest.Must(base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_")))(t)
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "evt_7.%d.%s", at.Unix(), body)
		signature := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		return []string{"id=evt_7", fmt.Sprintf("timestamp=%d", at.Unix()), "signature=v1,AAAA " + signature, "secrets=" + strings.Join(secrets, " ")}
	}
	const body = `{"type":"pet.updated"}`
	now := time.Now()
	for _, command := range []string{"./receiver-go", "python3 receiver.py", "node receiver.js"} {
		for _, c := range []struct {
			name, body string
			variables  []string
			refused    string
		}{
			{"signed with the new secret", body, sign(secrets[1], now, body), ""},
			{"signed with the old secret", body, sign(secrets[0], now, body), ""},
			{"forged", `{"type":"pet.deleted"}`, sign(secrets[0], now, body), "the message is not signed with a secret of this webhook"},
			{"of an hour ago", body, sign(secrets[0], now.Add(-time.Hour), body), "the message is too old, or a clock is wrong"},
			{"from the future", body, sign(secrets[0], now.Add(time.Hour), body), "the message is too old, or a clock is wrong"},
		} {
			output, err := shell(t, dir, command, append(c.variables, "body="+c.body)...)
			if (err != nil) != (c.refused != "") || !strings.Contains(output, c.refused) {
				t.Errorf("%s, a message that is %s: got %v, %s, want %q", command, c.name, err, output, c.refused)
			}
		}
	}
}
