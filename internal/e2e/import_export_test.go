package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// TestImportAndExportShowProgressOnTerminal checks that the commands show a progress bar on a terminal and
// print the same result line as without a terminal.
func TestImportAndExportShowProgressOnTerminal(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	p := f.serve()
	f.variables = append(f.variables, "ANIMALSTORE_KEY="+adminKey, "ANIMALSTORE_URL="+p.url+"/v1", "TERM=xterm")
	var lines strings.Builder
	for i := range 6000 {
		fmt.Fprintf(&lines, "{\"name\":\"Animal %d\",\"categoryId\":1}\n", i)
	}
	f.write("pets.ndjson", lines.String())
	for _, c := range []struct{ command, bar, result string }{
		{"import", "Importing", "Imported 6000 animals."},
		{"export", "Exporting", "Exported 6000 animals."},
	} {
		command := exec.Command(binary, c.command, "pets.ndjson")
		command.Dir, command.Env = f.dir, f.environment()
		terminal, err := pty.Start(command)
		if err != nil {
			t.Fatal(err)
		}
		shown, _ := io.ReadAll(terminal) // ReadAll returns an error when the program exits
		terminal.Close()
		if err := command.Wait(); err != nil {
			t.Errorf("%s: %v", c.command, err)
		}
		checkForRaces(t, string(shown))
		if text := string(shown); !strings.Contains(text, c.bar) || !strings.Contains(text, "%") || !strings.Contains(text, c.result) {
			t.Errorf("%s: got %q, want a progress bar and %q", c.command, text, c.result)
		}
	}
}

// TestShutdownWaitsForExport sends SIGTERM while the service is sending an export to a slow client. The
// export must still complete.
func TestShutdownWaitsForExport(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	p := f.serve()
	f.variables = append(f.variables, "ANIMALSTORE_KEY="+adminKey, "ANIMALSTORE_URL="+p.url+"/v1")
	name := strings.Repeat("🐈", 200)
	var lines strings.Builder
	for range 9000 { // the export must be larger than the connection's buffers
		fmt.Fprintf(&lines, "{\"name\":\"%s\",\"categoryId\":1}\n", name)
	}
	f.write("pets.ndjson", lines.String())
	if r := f.run("import", "pets.ndjson"); r.code != 0 {
		t.Fatalf("import: got %v, want exit code 0", r)
	}
	request, err := http.NewRequest("GET", p.url+"/v1/exports/pets.csv", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+adminKey)
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
	}}
	slow := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}, Timeout: waitTimeout}
	defer slow.CloseIdleConnections()
	response, err := slow.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	stopped := make(chan int)
	go func() {
		p.signal(syscall.SIGTERM)
		stopped <- p.exitCode()
	}()
	p.awaitOutput("the start of the shutdown", func(output string) bool { return strings.Contains(output, "msg=stopping") })
	body, err := io.ReadAll(response.Body)
	if n := strings.Count(string(body), "\n"); err != nil || n != 9001 {
		t.Errorf("export: got %d lines, %v, want 9001", n, err)
	}
	if code := <-stopped; code != 0 {
		t.Errorf("exit code after SIGTERM: got %d, want 0", code)
	}
}
