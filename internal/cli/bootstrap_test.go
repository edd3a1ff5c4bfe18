package cli

import (
	"bufio"
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

// If the process is stopped while it starts, the start still succeeds and prints the admin key that it
// created.
func TestStopDuringStartPrintsTheFirstKey(t *testing.T) {
	t.Parallel()
	database := filepath.Join(t.TempDir(), "test.db")
	store, err := sqlstore.Open(t.Context(), database, sqlstore.Options{Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	service, err := shop.Open(t.Context(), store, shop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	screen, output, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	command := &serveCommand{Database: database}
	err = command.bootstrapKey(stopped, service, terminal{out: output}, slog.New(slog.DiscardHandler), "http://127.0.0.1:1", 0)
	output.Close()
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(screen); lines.Scan(); {
		if line := strings.TrimSpace(lines.Text()); strings.HasPrefix(line, "ask_live_") {
			if _, err := service.Authenticate(t.Context(), line); err != nil {
				t.Errorf("the printed key is refused: %v", err)
			}
			return
		}
	}
	t.Error("no key was printed")
}
