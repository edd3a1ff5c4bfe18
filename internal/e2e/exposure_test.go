package e2e

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"animalstore/internal/programtest"
)

// TestMisplacedKeysAreNotExposed sends keys in headers, parameters and bodies where they do not belong. No
// key may appear in a response, the log, the metrics, the process list or any other output.
func TestMisplacedKeysAreNotExposed(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	p := f.Serve()
	p.Create(programtest.Pet{Name: "Rex", CategoryID: 1, Status: "available"})
	issued := f.CreateKey("--name", "partner")
	webhook := p.Send("POST", "/v1/webhooks", programtest.AdminKey, `{"url":"https://example.com/hook"}`)
	programtest.ExpectStatus(t, webhook, http.StatusCreated)
	signing := programtest.Decode[struct{ Secret string }](t, webhook.Body).Secret
	if !strings.HasPrefix(signing, "whsec_") {
		t.Fatalf("the new webhook has no signing secret: %v", webhook)
	}
	written := map[string]string{}
	for _, secret := range []string{programtest.AdminKey, issued} {
		record := func(what string, a programtest.Response) {
			written["the response to "+what] += a.Body
			for name, values := range a.Header {
				written["the header "+name+" of the response to "+what] += strings.Join(values, " ")
			}
		}
		for _, header := range []string{"X-Api-Key", "Api-Key", "Token", "Proxy-Authorization", "Cookie", "Referer", "User-Agent", "Origin", "Accept", "Content-Type", "Content-Encoding",
			"Idempotency-Key", "If-Match", "If-None-Match", "Last-Event-ID", "Traceparent", "Tracestate", "X-Request-Id", "X-Forwarded-For"} {
			for _, to := range []string{"GET /v1/pets", "POST /v1/pets", "PATCH /v1/pets/1", "OPTIONS /v1/pets", "GET /v1/nothing", "GET /v1/events"} {
				method, path, _ := strings.Cut(to, " ")
				record(to+" with "+header, p.Send(method, path, issued, `{"status":"none"}`, header+": "+secret))
			}
		}
		for _, parameter := range []string{"limit", "status", "cursor", "categoryId", "id", "petId", "after", "type"} {
			record("a parameter", p.Send("GET", "/v1/events?"+parameter+"="+secret, issued, ""))
			record("a parameter", p.Send("GET", "/v1/store/orders?"+parameter+"="+secret, issued, ""))
		}
		for _, member := range []string{"categoryId", "status", "petId", "overlapSeconds", "expiresAt", "scopes", "types", "url", "enabled", secret} {
			for _, path := range []string{"/v1/pets", "/v1/store/orders", "/v1/keys", "/v1/webhooks", "/v1/keys/1/rotate"} {
				body := fmt.Sprintf(`{%q:%q}`, member, secret)
				if path == "/v1/keys/1/rotate" && member != "overlapSeconds" {
					continue // without a known member in its body, this request would rotate the key
				}
				record(path+" with "+member, p.Send("POST", path, issued, body))
			}
		}
		record("a body that is a key", p.Send("POST", "/v1/pets", issued, secret))
		record("a password", p.Send("GET", "/v1/pets", "", "", "Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("me:"+secret))))
		if a, err := sendRaw(p, "GET /v1/pets HTTP/1.1\r\nHost: "+secret+"x/y\r\n\r\n"); err == nil {
			record("a host", a)
		}
	}
	written["the metrics"] = p.Get("/metrics").Body
	written["the profiles"] = p.Get("/debug/pprof/cmdline").Body + p.Get("/debug/pprof/goroutine?debug=2").Body
	processes, err := exec.Command("ps", "-o", "args=", "-p", fmt.Sprint(p.Command.Process.Pid)).Output()
	if err != nil || !strings.Contains(string(processes), "serve") {
		t.Errorf("process list: got %q, %v, want the serve command", processes, err)
	}
	written["the process list"] = string(processes)
	written["the events"] = p.Get("/v1/events?limit=100").Body
	written["the keys"] = p.Get("/v1/keys").Body
	written["the webhooks"] = p.Get("/v1/webhooks").Body + p.Get("/v1/webhooks/1").Body + p.Get("/v1/webhooks/1/deliveries").Body
	p.Stop()
	written["the log"] = p.Output.String()
	for where, text := range written {
		for _, secret := range []string{programtest.AdminKey, issued, issued[9:30], signing, base64.StdEncoding.EncodeToString([]byte("me:" + issued))} {
			if strings.Contains(text, secret) {
				t.Errorf("%s contains a secret: …%q…", where, around(text, secret))
			}
		}
	}
}

// TestFilesAreReadableByOwnerOnly creates databases under umask 000, so that only the program itself
// restricts the file permissions.
func TestFilesAreReadableByOwnerOnly(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolder(t)
	r := f.Shell("umask 000 && animalstore keys create --name me && animalstore copy --to copy.db && " +
		"{ animalstore serve --addr 127.0.0.1:0 2>log & until grep -q listening log; do sleep 0.05; done; kill -9 $!; }; umask 077; rm log")
	if r.Code != 0 {
		t.Fatalf("got %v, want exit code 0", r)
	}
	names := f.Names()
	for _, want := range []string{"animalstore.db", "animalstore.db-shm", "animalstore.db-wal", "animalstore.db.lock", "copy.db"} {
		if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+want+" ") {
			t.Errorf("files: got %q, want %s among them", names, want)
		}
	}
	for _, name := range names {
		info, err := os.Stat(f.Path(name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != 0o600 {
			t.Errorf("mode of %s: got %v, want -rw-------", name, info.Mode())
		}
	}
}

// TestStreamLimitOfOneKeySparesOthers opens twice as many streams as one key may have. Half of the streams
// must be refused with a clear error, and other keys must not be affected.
func TestStreamLimitOfOneKeySparesOthers(t *testing.T) {
	t.Parallel()
	const limit = 512
	f := programtest.NewFolderWithKey(t)
	p := f.Serve()
	greedy := f.CreateKey("--name", "greedy", "--scope", "events:read")
	request := "GET /v1/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAuthorization: Bearer " + greedy + "\r\n\r\n"
	statuses := make(chan int, 2*limit)
	var open sync.Map
	var requests sync.WaitGroup
	for i := range 2 * limit {
		requests.Go(func() {
			connection, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
			if err != nil {
				t.Error(err)
				return
			}
			open.Store(i, connection)
			io.WriteString(connection, request)
			response, err := http.ReadResponse(bufio.NewReader(connection), nil)
			if err != nil {
				t.Error(err)
				return
			}
			statuses <- response.StatusCode
		})
	}
	requests.Wait()
	defer open.Range(func(_, connection any) bool { return connection.(net.Conn).Close() == nil })
	close(statuses)
	count := map[int]int{}
	for status := range statuses {
		count[status]++
	}
	if count[200] != limit || count[429] != limit {
		t.Errorf("responses by status: got %v, want %d of 200 and %d of 429", count, limit, limit)
	}
	a := p.Send("GET", "/v1/events", greedy, "", "Accept: text/event-stream")
	programtest.ExpectError(t, a, http.StatusTooManyRequests, "rate_limited")
	if !strings.Contains(a.Body, "512") || a.Header.Get("Retry-After") == "" {
		t.Errorf("got %v with header %v, want the limit 512 and Retry-After", a, a.Header)
	}
	p.Create(programtest.Pet{Name: "Rex"})
	follow(p, t.Context())
	programtest.ExpectStatus(t, p.Send("GET", "/v1/events", greedy, ""), http.StatusOK)
}
