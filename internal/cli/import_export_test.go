package cli

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// writeAnimals writes a file with n animals of that name.
func writeAnimals(t *testing.T, n int, name string) {
	t.Helper()
	writeFile(t, "pets.ndjson", strings.Repeat(fmt.Sprintf("{\"name\":%q,\"categoryId\":1}\n", name), n))
}

func TestImportAndExportShowProgressOnTerminal(t *testing.T) {
	newFolderWithKey(t)
	serve(t).useForCommands()
	t.Setenv("TERM", "xterm")
	writeAnimals(t, 6000, "Rex")
	for _, c := range []struct{ command, bar, result string }{
		{"import", "Importing", "Imported 6000 animals."},
		{"export", "Exporting", "Exported 6000 animals."},
	} {
		screen, output := openTerminal(t)
		if code := run(t.Context(), []string{c.command, "pets.ndjson"}, terminal{output, output}); code != 0 {
			t.Errorf("%s: got exit code %d, want 0", c.command, code)
		}
		awaitText(t, screen, nil, c.result)
		if text := screen.String(); !strings.Contains(text, c.bar) || !strings.Contains(text, "%") {
			t.Errorf("%s: got %q, want a progress bar", c.command, text)
		}
	}
}

// An export to a slow client completes although the service is being stopped.
func TestShutdownWaitsForExport(t *testing.T) {
	newFolderWithKey(t)
	s := serve(t)
	s.useForCommands()
	const animals = 9000
	writeAnimals(t, animals, strings.Repeat("🐈", 200)) // the export must be larger than the connection's buffers
	succeed(t, "import", "pets.ndjson")
	connection, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	fmt.Fprintf(connection, "GET /v1/exports/pets.csv HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", adminKey)
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.interrupt()
	s.await("msg=stopping")
	body, err := io.ReadAll(response.Body)
	if n := strings.Count(string(body), "\n"); err != nil || n != animals+1 {
		t.Errorf("export: got %d lines, %v, want %d", n, err, animals+1)
	}
	s.exit(0)
}
