package cli

import (
	"bytes"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"animalstore/client"
	"animalstore/internal/admission"
	"animalstore/internal/httpapi"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

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
		h := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
		c := shoptest.Must(client.New("http://animals.example/v1", shoptest.AdminKey, client.WithHTTPClient(h)))(t)
		path := filepath.Join(t.TempDir(), "animals.csv")
		shoptest.OK(t, os.WriteFile(path, []byte("name,categoryId\nLuna,1\n"), 0o600))
		file := shoptest.Must(os.Open(path))(t)
		defer file.Close()
		var out bytes.Buffer
		run := &importRun{ctx: t.Context(), client: c, file: file, format: client.CSV, out: &out}
		shoptest.OK(t, run.setKeyPrefix())
		shoptest.OK(t, run.check())
		shoptest.OK(t, run.write())
		if imports != 8 || run.created != 1 || strings.Count(out.String(), "wait for the search index") != 1 {
			t.Errorf("%d requests imported %d animals; the output is %q", imports, run.created, out.String())
		}
	})
}
