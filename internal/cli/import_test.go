package cli

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/client"
	"animalstore/internal/admission"
	"animalstore/internal/httpapi"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// newImportRun returns an import of one animal by a service that dial connects to.
func newImportRun(t *testing.T, dial func(context.Context, string, string) (net.Conn, error), out io.Writer) *importRun {
	t.Helper()
	h := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
	c := shoptest.Must(client.New("http://animals.example/v1", shoptest.AdminKey, client.WithHTTPClient(h)))(t)
	path := filepath.Join(t.TempDir(), "animals.csv")
	shoptest.OK(t, os.WriteFile(path, []byte("name,categoryId\nLuna,1\n"), 0o600))
	file := shoptest.Must(os.Open(path))(t)
	t.Cleanup(func() { file.Close() })
	run := &importRun{ctx: t.Context(), client: c, file: file, format: client.CSV, out: out}
	shoptest.OK(t, run.setKeyPrefix())
	return run
}

// If too many animals wait for the search index, an import waits for longer than the client itself would, says so once, and
// goes on.
func TestImportWaitsForTheSearchIndex(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := shoptest.Open(t, shoptest.Options{})
		s.AddPet(t, "Bella", 1, "")
		shoptest.OK(t, s.Store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
			_, err := tx.InsertPets(slices.Repeat([]shop.NewPet{{Name: "Rex", CategoryID: 1}}, admission.MaxWaitingTexts)...)
			return err
		}))
		api := shoptest.Must(httpapi.New(httpapi.Config{Service: s.Service, Log: slog.New(slog.DiscardHandler)}))(t)
		imports := 0
		dial := shoptest.ServeInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery == "" {
				if imports++; imports == 8 {
					shoptest.OK(t, shoptest.IndexSearch(t.Context(), s.Store))
				}
			}
			api.ServeHTTP(w, r)
		}))
		out := &bytes.Buffer{}
		run := newImportRun(t, dial, out)
		shoptest.OK(t, run.check())
		shoptest.OK(t, run.write())
		if imports != 8 || run.created != 1 || strings.Count(out.String(), "wait for the search index") != 1 {
			t.Errorf("%d requests imported %d animals; the output is %q", imports, run.created, out.String())
		}
	})
}

// An import that is refused for maxPatience gives up, and has said why it waited.
func TestImportGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dial := shoptest.ServeInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, `{"code":"unavailable","status":503,"message":"The disk is full."}`)
		}))
		out := &bytes.Buffer{}
		start := time.Now()
		_, err := newImportRun(t, dial, out).importChunk(0, chunk{content: []byte("name\nLuna\n")})
		if took := time.Since(start); !client.IsCode(err, client.CodeUnavailable) || took < maxPatience || took > 2*maxPatience ||
			strings.Count(out.String(), "The disk is full.") != 1 {
			t.Errorf("after %v, the import returned %v and printed %q", took, err, out)
		}
	})
}
